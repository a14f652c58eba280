// Channels and the log of their moves.
import { sql } from 'kysely';
import { checkMove, latestChannel } from '../../domain/channel/channel.ts';
import type { PolicyResult } from '../../domain/channel/decision.ts';
import type { ChannelMove, ChannelRecord } from '../../domain/channel/record.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestTest } from '../../domain/evidence/evidence.ts';
import type { VersionRecord } from '../../domain/image/record.ts';
import type { MoveRequest } from '../../ports/database/catalog.ts';
import type { Change } from '../connection/database.ts';
import { lockName } from '../connection/locks.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence, newestTestFailed } from './evidence.ts';
import { lockImage, requireChannel, requireVersion } from './lookup.ts';
import { channels, evidences, moves, versions } from './records.ts';

export function moveChannel(context: CatalogueContext, request: MoveRequest): Promise<ChannelMove> {
  return context.database.write(async (change) => {
    const { tables } = change;
    await lockImage(tables, request.image);
    const { image, expect, back = false } = request;
    const channel = await requireChannel(tables, image, request.channel);
    const version = await requireVersion(tables, image, request.to);
    const check = { back, ...(expect === undefined ? {} : { expect }) };
    if (checkMove(channel, version, check)) {
      if (back && !channel.forTesting) await requireNotFailed(change, version);
      if (request.policy !== undefined) await requireUnchanged(change, version.digest, request.policy);
      return recordMove(context, change, channel, version, request);
    }
    const last = await moves.last(tables, { image, channel: request.channel }, 'id');
    if (last === undefined) throw new ImagoError('internal', `${image}:${request.channel} has no move.`);
    return last;
  });
}

/** Going back asks no gate, but never leads to what failed its newest test (rule 4). */
async function requireNotFailed(
  { tables }: Change,
  { image, version, digest }: VersionRecord,
): Promise<void> {
  await lockName('evidence', digest).execute(tables);
  if (newestTest(digest, await listEvidence(tables, digest))?.passed !== false) return;
  throw new ImagoError('channel-untested', `The newest test of ${image}:${version} failed.`, {
    hint: `Run \`imago test ${image}:${version}\` again, or name another version.`,
  });
}

/** Nothing that the gates were decided on may have changed: what is added from now on comes after the move. */
async function requireUnchanged({ tables }: Change, digest: string, decided: PolicyResult): Promise<void> {
  await lockName('evidence', digest).execute(tables);
  await lockName('policy', '').execute(tables);
  const evidence = await evidences.last(tables, { digest }, 'id');
  const policy = await tables
    .selectFrom('policies')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if ((evidence?.id ?? 0) === decided.evidenceSeen && policy?.id === decided.policy?.id) return;
  throw new ImagoError('gate-outdated', `There is newer evidence of ${digest}, or a newer policy.`);
}

/**
 * Points `latest` at the available version that was made last and whose newest test did not fail, or at nothing. The
 * image must be locked. Prototypes have no channels.
 */
export async function moveLatest(
  context: CatalogueContext,
  change: Change,
  image: string,
  author: Author,
): Promise<void> {
  const { tables } = change;
  const latest = await channels.find(tables, { image, name: latestChannel });
  if (latest === undefined) return;
  const newest = await tables
    .selectFrom('versions')
    .selectAll()
    .where('image', '=', image)
    .where('state', '=', 'available')
    .where(sql<boolean>`not ${newestTestFailed('versions.digest')}`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const target = newest && versions.of(newest);
  if (latest.version !== target?.version) await recordMove(context, change, latest, target, author);
}

type Author = Pick<MoveRequest, 'by' | 'why' | 'operation' | 'policy'>;

/** The image must be locked, and the move allowed. */
export async function recordMove(
  { stamp }: CatalogueContext,
  { tables, emit }: Change,
  channel: ChannelRecord,
  to: VersionRecord | undefined,
  { by, why, operation, policy }: Author,
): Promise<ChannelMove> {
  const { image, name } = channel;
  const row = moves.row({
    ...{ image, channel: name, from: channel.version, to: to?.version, toDigest: to?.digest },
    ...{ by, why, operation, policy, at: stamp(channel.movedAt) },
  });
  const move = await moves.insert(tables, row);
  const target = { version: to?.version ?? null, digest: to?.digest ?? null };
  await channels.update(tables, { image, name }, { ...target, move: move.id, moved_at: move.at });
  const { policy: _, ...facts } = move;
  const overridden = policy?.gates.filter((gate) => gate.overridden).map(({ gate }) => gate);
  emit({ type: 'channel.moved', subject: `image/${move.image}`, data: { ...facts, overridden } });
  return move;
}
