// Handles galleries, webhooks, and the public catalog.
import type { BodyOf } from '../../../api/contract/types.ts';
import { answerDeadline } from '../../../async/deadline.ts';
import { usualChannels } from '../../../domain/channel/channel.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { type AzureCoordinates, checkCoordinates } from '../../../domain/gallery/gallery.ts';
import { checkName } from '../../../domain/value/name.ts';
import { requireNamed } from '../../../domain/value/require-named.ts';
import { didYouMean, orList } from '../../../domain/value/suggest.ts';
import { readWebhookEvents, readWebhookUrl } from '../../../domain/webhook/webhook.ts';
import { requireImage } from '../../../operations/common/require.ts';
import { requireGallery } from '../../../operations/gallery/copy-target.ts';
import { listCopies } from '../../../operations/gallery/list-copies.ts';
import { checkMayBePublic, makePublic } from '../../../operations/gallery/make-public.ts';
import { readCatalogImage } from '../../../operations/public-catalog/image.ts';
import type { Provider } from '../../../ports/provider/provider.ts';
import { checkWebhookAddress } from '../../webhook/post.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { allItems, pageQuery } from '../endpoint/page-query.ts';
import { requireProvider } from '../endpoint/require-provider.ts';

/** How long a gallery may take to tell all that it holds. */
const galleryMs = 60_000;

export const distributionHandlers = {
  async showCatalogImage({ context, path, limits, signal }) {
    const { catalogue, lifecycle, galleryBook, images, clock } = context;
    const image = await requireImage(context, path.image);
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]);
    return readCatalogImage(
      {
        ...{ catalogue, lifecycle, galleryBook, images },
        providers: [...context.providers.values()],
        now: new Date(clock.now()),
        options: { signal: deadline, epoch: 0 },
      },
      image,
    );
  },
  listGalleries: async ({ context }) => ({ items: await context.galleryBook.list() }),
  async listCopies({ context, query, limits, signal }) {
    if (query.image !== undefined) await requireImage(context, query.image);
    const options = { signal: AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]), epoch: 0 };
    return { items: await listCopies([...context.providers.values()], query.image, options) };
  },
  listWebhooks: ({ context, query }) => context.webhooks.list(pageQuery(query)),
  async listDeliveries({ context, path, query }) {
    await requireWebhook(context, path.webhook);
    return context.webhooks.log(path.webhook, pageQuery(query));
  },
  async addGallery({ context, body, caller }) {
    const { name, place, home, channels, regions, azure } = body;
    checkName('gallery', name);
    for (const channel of channels) await requireKnownChannel(context, channel);
    const provider = requireProvider(context, body.provider);
    checkPlace(provider, place);
    for (const region of [...regions.map((target) => target.region), ...(home === undefined ? [] : [home])]) {
      checkRegion(provider, region);
    }
    const named = azure && coordinatesOf(azure);
    if (named !== undefined) checkCoordinates(named);
    const gallery = {
      ...{ name, provider: provider.name, channels, regions, public: body.public, by: caller.who },
      ...(place === undefined ? {} : { place }),
      ...(home === undefined ? {} : { home }),
      ...(named === undefined ? {} : { azure: named }),
    };
    const { catalogue, galleryBook } = context;
    const reading = () => ({
      ...{ catalogue, galleryBook, provider },
      options: { signal: answerDeadline(galleryMs, `Gallery ${name}`), epoch: 0 },
    });
    const known = await galleryBook.get(name);
    if (gallery.public && known?.public !== true) await checkMayBePublic(reading(), gallery);
    return {
      subject: `gallery/${name}`,
      plan: async () => [
        `Know ${[provider.name, place].filter((part) => part !== undefined).join('/')} as gallery ${name}.`,
        ...channels.map((channel) => `Copy versions there before ${channel} moves to them.`),
        ...(gallery.public ? ['Keep versions with private inputs out of it, and show it to all.'] : []),
      ],
      run: () => (gallery.public ? makePublic(reading(), gallery) : galleryBook.set(gallery)),
    };
  },
  async removeGallery({ context, path }) {
    const gallery = await requireGallery(context, path.gallery);
    return {
      subject: `gallery/${gallery.name}`,
      before: {
        ...gallery,
        azure: { ...gallery.azure },
        regions: gallery.regions.map((one) => ({ ...one })),
      },
      plan: async () => [
        `Forget gallery ${gallery.name}. What it holds stays there.`,
        ...gallery.channels.map((channel) => `Versions are no longer copied there before ${channel} moves.`),
      ],
      async run() {
        await context.galleryBook.remove(gallery.name);
        return gallery;
      },
      record: () => null,
    };
  },
  async createWebhook({ context, body, caller }) {
    const { name, image, allowPrivate } = body;
    checkName('webhook', name);
    const events = readWebhookEvents(body.events);
    const url = readWebhookUrl(body.url, allowPrivate);
    await checkWebhookAddress(url, allowPrivate);
    if (image !== undefined) await requireImage(context, image);
    if ((await context.webhooks.get(name)) !== undefined) {
      throw new ImagoError('webhook-exists', `There is a webhook ${name} already.`, {
        hint: 'Its secret cannot be shown again: delete it to make another.',
      });
    }
    const key = requireKey(context);
    return {
      subject: `webhook/${name}`,
      plan: async () => [
        `Tell ${url.href} of: ${events.join(', ')}${image === undefined ? '' : ` (${image})`}.`,
      ],
      async run() {
        const salt = key.newSalt();
        const made = await context.webhooks.create({
          ...{ name, url: url.href, events, allowPrivate, salt, keyId: key.id, by: caller.who },
          ...(image === undefined ? {} : { image }),
        });
        return { ...made, secret: key.secretOf({ name, salt, keyId: key.id }) };
      },
      record: ({ url: target, events: asked }) => ({ url: target, events: asked, allowPrivate }),
    };
  },
  async resendDeliveries({ context, path, body, caller }) {
    const { name, url, state } = await requireWebhook(context, path.webhook);
    if (state === 'gone') throw new ImagoError('webhook-gone', `Webhook ${name} ended.`);
    const { event } = body ?? {};
    if (event !== undefined && !(await context.webhooks.hasEvent(name, event))) {
      throw new ImagoError('event-not-found', `Webhook ${name} has no delivery of event ${event}.`, {
        hint: `See \`imago webhook log ${name}\`.`,
      });
    }
    const what = event === undefined ? 'what failed' : `event ${event}`;
    return {
      subject: `webhook/${name}`,
      plan: async () => [`Send ${what} to ${url} again.`],
      run: async () => ({
        webhook: name,
        deliveries: await context.webhooks.resend(name, event, caller.who),
      }),
    };
  },
  async testWebhook({ context, path, caller }) {
    const webhook = await requireWebhook(context, path.webhook);
    if (webhook.state === 'gone') throw new ImagoError('webhook-gone', `Webhook ${webhook.name} ended.`);
    return {
      subject: `webhook/${webhook.name}`,
      plan: async () => [`Send a test event to ${webhook.url}.`],
      async run() {
        await context.webhooks.test(webhook.name, caller.who);
        return webhook;
      },
      record: () => null,
    };
  },
  async deleteWebhook({ context, path }) {
    const webhook = await requireWebhook(context, path.webhook);
    return {
      subject: `webhook/${webhook.name}`,
      before: { ...webhook },
      plan: async () => [
        `Delete webhook ${webhook.name} and its log: ${webhook.url} receives no more events.`,
      ],
      async run() {
        await context.webhooks.delete(webhook.name);
        return webhook;
      },
      record: () => null,
    };
  },
} satisfies Partial<Handlers>;

/** A gallery serves a channel of every image that has it: one that no image has is a typing mistake. */
async function requireKnownChannel({ catalogue }: DaemonContext, channel: string): Promise<void> {
  checkName('channel', channel);
  const known = new Set<string>(usualChannels.map(({ name }) => name));
  for await (const { name } of allItems((query) => catalogue.listImages(query))) {
    for (const one of await catalogue.listChannels(name)) known.add(one.name);
  }
  if (known.has(channel)) return;
  throw new ImagoError('channel-not-found', `No image has a channel ${channel}.`, {
    hint:
      didYouMean(channel, known) ?? `Create it with \`imago channel create\`, or use ${orList([...known])}.`,
  });
}

function coordinatesOf(given: NonNullable<BodyOf<'addGallery'>['azure']>): AzureCoordinates {
  const { communityName, ...coordinates } = given;
  return { ...coordinates, ...(communityName === undefined ? {} : { communityName }) };
}

function checkPlace(provider: Provider, place: string | undefined): void {
  const has = place === undefined ? provider.gallery : provider.galleries;
  if (has !== undefined) return;
  throw new ImagoError(
    'provider-lacks',
    `Provider ${provider.name} has no ${place === undefined ? 'gallery' : 'galleries of several names'}.`,
  );
}

function checkRegion({ name, abilities: { regions } }: Provider, region: string): void {
  if (regions.includes(region)) return;
  throw new ImagoError('input-invalid', `There is no region ${region} at ${name}.`, {
    hint: regions.length === 0 ? 'It has only one place.' : `There are: ${regions.join(', ')}.`,
  });
}

async function requireWebhook({ webhooks }: DaemonContext, name: string) {
  return requireNamed('webhook', name, await webhooks.get(name), async () => {
    const known: string[] = [];
    for await (const webhook of allItems((query) => webhooks.list(query))) known.push(webhook.name);
    return known;
  });
}

function requireKey({ webhookKey }: DaemonContext) {
  if (webhookKey !== undefined) return webhookKey;
  throw new ImagoError('daemon-standby', 'This daemon stands by: another one sends webhooks.', {
    httpStatus: 503,
    retryable: true,
  });
}
