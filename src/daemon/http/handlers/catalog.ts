// Images, versions, channels.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { channelNotFound, imageNotFound } from '../../../domain/resolve/resolve.ts';
import { kubernetesCalendar } from '../../../domain/support/calendar.ts';
import { sourcedSupport } from '../../../domain/support/support.ts';
import { resolveImage } from '../../../operations/resolve/resolve.ts';
import type {
  Catalogue,
  ChannelRecord,
  ImageRecord,
  VersionRecord,
} from '../../../ports/database/catalog.ts';
import type { Handlers } from '../endpoint/call.ts';
import { pageQuery } from '../endpoint/page-query.ts';

export const catalogHandlers = {
  listImages: ({ context, query }) => context.catalogue.listImages(pageQuery(query)),
  showImage: ({ context, path }) => requireImage(context.catalogue, path.image),
  async listVersions({ context, path, query }) {
    await requireImage(context.catalogue, path.image);
    return context.catalogue.listVersions(path.image, pageQuery(query));
  },
  async showVersion({ context, path }) {
    const version = await requireVersion(context.catalogue, path.image, path.version);
    const set = await context.lifecycle.support.list();
    const now = new Date(context.clock.now());
    const support = sourcedSupport(version, { calendar: kubernetesCalendar, set }, now);
    return { ...version, ...(support && { support }) };
  },
  async listEvidence({ context, path }) {
    const { digest } = await requireVersion(context.catalogue, path.image, path.version);
    return { items: await context.catalogue.listEvidence(digest) };
  },
  resolve: ({ context, query, signal }) =>
    resolveImage(
      {
        catalogue: context.catalogue,
        providers: [...context.providers.values()],
        options: { signal, epoch: 0 },
      },
      query,
    ),
  async listChannels({ context, path }) {
    await requireImage(context.catalogue, path.image);
    return { items: await context.catalogue.listChannels(path.image) };
  },
  async listMoves({ context, path, query }) {
    await requireImage(context.catalogue, path.image);
    const moves = await context.catalogue.listMoves(path.image, query.channel, pageQuery(query));
    if (query.channel !== undefined && moves.items.length === 0) {
      await requireChannel(context.catalogue, path.image, query.channel);
    }
    return moves;
  },
} satisfies Partial<Handlers>;

export async function requireImage(catalogue: Catalogue, name: string): Promise<ImageRecord> {
  const image = await catalogue.getImage(name);
  if (image !== undefined) return image;
  const known = await catalogue.listImages({ limit: 1000 });
  throw imageNotFound(
    name,
    known.items.map((item) => item.name),
  );
}

/** Deleted versions are shown too: their record is kept. */
export async function requireVersion(
  catalogue: Catalogue,
  image: string,
  version: string,
): Promise<VersionRecord> {
  const found = await catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  await requireImage(catalogue, image);
  await catalogue.resolve(`${image}:${version}`);
  throw new ImagoError('version-not-found', `Image ${image} has no version ${version}.`);
}

export async function requireChannel(
  catalogue: Catalogue,
  image: string,
  name: string,
): Promise<ChannelRecord> {
  const channel = await catalogue.getChannel(image, name);
  if (channel !== undefined) return channel;
  await requireImage(catalogue, image);
  const known = await catalogue.listChannels(image);
  throw channelNotFound(
    image,
    name,
    known.map((item) => item.name),
  );
}
