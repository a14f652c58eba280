// Images, versions, channels.
import { kubernetesCalendar } from '../../../domain/support/calendar.ts';
import { sourcedSupport } from '../../../domain/support/support.ts';
import { requireChannel, requireImage, requireVersion } from '../../../operations/common/require.ts';
import { resolveImage } from '../../../operations/resolve/resolve.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';

export const catalogHandlers = {
  listImages: ({ context, query }) => context.catalogue.listImages(pageQuery(query)),
  showImage: ({ context, path }) => requireImage(context, path.image),
  async listVersions({ context, path, query }) {
    await requireImage(context, path.image);
    return context.catalogue.listVersions(path.image, pageQuery(query));
  },
  async showVersion({ context, path }) {
    const version = await requireVersion(context, path.image, path.version);
    const set = await context.lifecycle.support.list();
    const now = new Date(context.clock.now());
    const support = sourcedSupport(version, { calendar: kubernetesCalendar, set }, now);
    return { ...version, ...(support && { support }) };
  },
  async listEvidence({ context, path }) {
    const { digest } = await requireVersion(context, path.image, path.version);
    return { items: await context.catalogue.listEvidence(digest) };
  },
  resolve: ({ context, query, signal }) =>
    resolveImage(
      {
        catalogue: context.catalogue,
        providers: [...context.providers.values()],
        options: { signal, epoch: 0 },
        now: () => context.clock.now(),
      },
      query,
    ),
  async listChannels({ context, path }) {
    await requireImage(context, path.image);
    return { items: await context.catalogue.listChannels(path.image) };
  },
  async listMoves({ context, path, query }) {
    await requireImage(context, path.image);
    const moves = await context.catalogue.listMoves(path.image, query.channel, pageQuery(query));
    if (query.channel !== undefined && moves.items.length === 0) {
      await requireChannel(context, path.image, query.channel);
    }
    return moves;
  },
} satisfies Partial<Handlers>;
