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
import { toChannel } from './rows.ts';

export async function createChannel(
  { database }: CatalogueContext,
  channel: NewChannel,
): Promise<ChannelRecord> {
  const { image, name, after } = channel;
  checkName('channel', name);
  return database.write(async ({ tables, emit }) => {
    const { simulated } = await lockImage(tables, image);
    const rows = await tables
      .selectFrom('channels')
      .selectAll()
      .where('image', '=', image)
      .orderBy('position')
      .orderBy('name')
      .execute();
    const known = rows.find((row) => row.name === name);
    if (known !== undefined) {
      const same = known.for_testing === channel.forTesting && known.public === channel.public;
      if (same && !known.managed) return toChannel(known);
      throw new ImagoError('channel-exists', `Image ${image} has a channel ${name} with other properties.`);
    }
    if (after !== undefined) await requireChannel(tables, image, after);
    const order = rows.map((row) => row.name);
    order.splice(after === undefined ? order.length : order.indexOf(after) + 1, 0, name);
    await tables
      .insertInto('channels')
      .values({
        image,
        name,
        for_testing: channel.forTesting,
        managed: false,
        public: channel.public,
        simulated,
      })
      .execute();
    await writeOrder(tables, image, order);
    emit({
      type: 'channel.added',
      subject: `image/${image}`,
      data: { channel: name, forTesting: channel.forTesting, public: channel.public },
    });
    return toChannel(await requireChannel(tables, image, name));
  });
}

async function writeOrder(tables: Kysely<Tables>, image: string, order: readonly string[]): Promise<void> {
  for (const [index, name] of order.entries()) {
    await tables
      .updateTable('channels')
      .set({ position: index + 1 })
      .where('image', '=', image)
      .where('name', '=', name)
      .execute();
  }
}

export async function deleteChannel(
  context: CatalogueContext,
  { image, channel: name, expect, by, why }: Parameters<Catalogue['deleteChannel']>[0],
): Promise<void> {
  await context.database.write(async (change) => {
    const { tables, emit } = change;
    await lockImage(tables, image);
    const channel = await tables
      .selectFrom('channels')
      .selectAll()
      .where('image', '=', image)
      .where('name', '=', name)
      .executeTakeFirst();
    if (channel === undefined) return;
    if (channel.managed) {
      throw new ImagoError('channel-managed', `${image}:${name} is Imago's own and cannot be deleted.`);
    }
    checkPointer(toChannel(channel), expect);
    const follower = await tables
      .selectFrom('pools')
      .select('name')
      .where('image', '=', image)
      .where('follows', '=', name)
      .limit(1)
      .executeTakeFirst();
    if (follower !== undefined) {
      throw new ImagoError('channel-in-use', `Pool ${follower.name} follows ${image}:${name}.`);
    }
    if (channel.version !== null) await recordMove(context, change, channel, undefined, { by, why });
    await tables.deleteFrom('channels').where('image', '=', image).where('name', '=', name).execute();
    emit({ type: 'channel.deleted', subject: `image/${image}`, data: { channel: name, by, why } });
  });
}
