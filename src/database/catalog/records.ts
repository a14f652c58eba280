// The records of the catalog and its fleet, and their tables.
import { channel, move } from '../../domain/channel/record.ts';
import { evidence } from '../../domain/evidence/record.ts';
import { image, version } from '../../domain/image/record.ts';
import { nodeRecord } from '../../domain/node/record.ts';
import { poolRecord } from '../../domain/pool/record.ts';
import { withdrawalRecord } from '../../domain/withdrawal/record.ts';
import { records } from '../connection/records.ts';

export const images = records('images', image);
export const versions = records('versions', version);
export const channels = records('channels', channel);
export const moves = records('channel_moves', move, {
  from: 'from_version',
  to: 'to_version',
  by: 'moved_by',
});
export const evidences = records('evidence', evidence, { by: 'given_by' });
export const pools = records('pools', poolRecord);
export const nodes = records('nodes', nodeRecord, { goneAt: 'ended_at' });
export const withdrawals = records('withdrawals', withdrawalRecord, { by: 'asked_by' });
