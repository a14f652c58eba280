// Which channels an image has, and in which order. What they point at is in channels.ts.
import type { Kysely } from 'kysely';
import { type ChannelRecord, checkPointer } from '../../domain/channel/channel.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { checkName } from '../../domain/value/name.ts';
import type { Catalogue, NewChannel } from '../../ports/database/catalog.ts';
import type { Tables } from '../connection/tables.ts';
import { recordMove } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { lockImage, requireChannel } from './lookup.ts';
import { channels, pools } from './records.ts';

export async function createChannel(
  { database }: CatalogueContext,
  channel: NewChannel,
): Promise<ChannelRecord> {
  const { image, name, after } = channel;
  checkName('channel', name);
  return database.write(async ({ tables, emit }) => {
    const { simulated } = await lockImage(tables, image);
    const existing = await channels.all(tables, { image }, 'position', 'name');
    const known = existing.find((one) => one.name === name);
    if (known !== undefined) {
      const same = known.forTesting === channel.forTesting && known.public === channel.public;
      if (same && !known.managed) return known;
      throw new ImagoError('channel-exists', `Image ${image} has a channel ${name} with other properties.`);
    }
    if (after !== undefined) await requireChannel(tables, image, after);
    const order = existing.map((one) => one.name);
    order.splice(after === undefined ? order.length : order.indexOf(after) + 1, 0, name);
    const { forTesting, public: isPublic } = channel;
    const added = { image, name, forTesting, managed: false, public: isPublic, simulated };
    await channels.insert(tables, channels.row(added));
    await writeOrder(tables, image, order);
    emit({
      type: 'channel.added',
      subject: `image/${image}`,
      data: { channel: name, forTesting, public: isPublic },
    });
    return requireChannel(tables, image, name);
  });
}

async function writeOrder(tables: Kysely<Tables>, image: string, order: readonly string[]): Promise<void> {
  for (const [index, name] of order.entries()) {
    await channels.update(tables, { image, name }, { position: index + 1 });
  }
}

export async function deleteChannel(
  context: CatalogueContext,
  { image, channel: name, expect, by, why }: Parameters<Catalogue['deleteChannel']>[0],
): Promise<void> {
  await context.database.write(async (change) => {
    const { tables, emit } = change;
    await lockImage(tables, image);
    const channel = await channels.find(tables, { image, name });
    if (channel === undefined) return;
    if (channel.managed) {
      throw new ImagoError('channel-managed', `${image}:${name} is Imago's own and cannot be deleted.`);
    }
    checkPointer(channel, expect);
    const follower = await pools.find(tables, { image, follows: name });
    if (follower !== undefined) {
      throw new ImagoError('channel-in-use', `Pool ${follower.name} follows ${image}:${name}.`);
    }
    if (channel.version !== undefined) await recordMove(context, change, channel, undefined, { by, why });
    await channels.delete(tables, { image, name });
    emit({ type: 'channel.deleted', subject: `image/${image}`, data: { channel: name, by, why } });
  });
}
