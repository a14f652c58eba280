// The tables of the schema `imago` as the queries see them. Most are the columns of their records: see `records.ts`.
// Times and days are ISO texts, JSON columns are texts.
import type { Generated } from 'kysely';
import type { AuditEntry, TokenRecord } from '../../domain/access/record.ts';
import type { MoveAttestation } from '../../domain/channel/attestation.ts';
import type { ChannelMove, ChannelRecord } from '../../domain/channel/record.ts';
import type { ClusterRecord } from '../../domain/cluster/record.ts';
import type { Evidence } from '../../domain/evidence/record.ts';
import type { GalleryRecord } from '../../domain/gallery/record.ts';
import type { ImageRecord, VersionRecord } from '../../domain/image/record.ts';
import type { NodeRecord } from '../../domain/node/record.ts';
import type { OperationRecord, StepRecord } from '../../domain/operation/record.ts';
import type { PolicyRecord } from '../../domain/policy/schema.ts';
import type { PoolRecord } from '../../domain/pool/record.ts';
import type { ProblemRecord } from '../../domain/problem/problem.ts';
import type { Hold } from '../../domain/retention/record.ts';
import type { RolloutRecord } from '../../domain/rollout/record.ts';
import type { ScheduleRecord } from '../../domain/schedule/record.ts';
import type { SetSupportDate } from '../../domain/support/record.ts';
import type { Delivery, Webhook } from '../../domain/webhook/record.ts';
import type { Withdrawal } from '../../domain/withdrawal/record.ts';
import type { ImagoEvent } from '../../ports/database/events.ts';
import type { Given, Row } from './row.ts';

/** Columns that the database fills if a writer does not. */
type Defaults<T, K extends keyof T> = Omit<T, K> & { [C in K]: Generated<T[C]> };

export interface OperationsTable
  extends Defaults<Row<Omit<OperationRecord, 'steps'>, { by: 'requested_by' }>, 'exceptions'> {
  /** In the order in which operations were created, regardless of the clock. */
  seq: Given<number>;
}

export interface StepsTable extends Defaults<Row<StepRecord>, 'state' | 'attempts'> {
  operation: string;
  position: number;
}

export interface ImagesTable extends Row<ImageRecord> {
  /** The Kubernetes versions that the recipe lists. */
  matrix: Generated<string[]>;
}

/** Every number that was ever used. Rows are never deleted. */
interface NumbersTable {
  image: string;
  number: string;
  operation: string;
  /** Chosen by Imago for this operation, rather than brought along with an import. */
  reserved: boolean;
  /** The digest of the version that got it; set once. */
  digest: string | null;
  at: string;
}

export interface VersionsTable extends Row<VersionRecord> {
  major: Given<number>;
  minor: Given<number>;
  patch: Given<number>;
  lock_digest: string | null;
}

export type ChannelsTable = Defaults<Row<ChannelRecord>, 'position' | 'public'>;

/** One row for each disk that a machine ever had; the live one has no `ended_at`. */
export interface NodesTable extends Defaults<Row<NodeRecord, { goneAt: 'ended_at' }>, 'schedulable'> {
  id: Given<number>;
}

export type WithdrawalsTable = Row<Withdrawal, { by: 'asked_by' }>;

/** What new nodes of each pool were ever created from. Written by a trigger. */
interface PoolModelsTable {
  id: Given<number>;
  pool: Given<string>;
  pool_created_at: Given<string>;
  image: Given<string>;
  version: Given<string>;
  digest: Given<string>;
  reference: Given<string>;
  move: Given<number | null>;
  at: Given<string>;
}

interface WebhooksTable extends Row<Webhook, { by: 'added_by' }> {
  salt: string;
  key_id: string;
  seen: number;
}

interface AuditTable extends Omit<Row<AuditEntry>, 'at'> {
  at: Given<string>;
  /** Chosen by the writer, so that one who does not know whether the entry arrived can write it again. */
  entry: string;
}

interface IdempotencyKeysTable {
  key: string;
  who: string;
  fingerprint: string;
  /** The epoch of the daemon that claimed it: a claim of an earlier one that was never finished is free again. */
  epoch: number;
  claimed_at: Generated<string>;
  /** Chosen by the claimant, so that one who does not know whether the claim arrived can claim again. */
  claim: string;
  status: number | null;
  body: string | null;
}

export interface Tables {
  events: Omit<Row<ImagoEvent>, 'at'> & { at: Given<string> };
  operations: OperationsTable;
  steps: StepsTable;
  calls: { run: string; place: number; name: string; value: string };
  operation_logs: { id: Given<number>; operation: string; at: string; line: string };
  images: ImagesTable;
  numbers: NumbersTable;
  versions: VersionsTable;
  channels: ChannelsTable;
  channel_moves: Row<ChannelMove, { from: 'from_version'; to: 'to_version'; by: 'moved_by' }>;
  evidence: Row<Evidence, { by: 'given_by' }>;
  /** Units that were tested together, by the digest of their content. */
  composed_versions: { id: string; digest: string; content: string; at: string };
  /** Every policy that was ever active; the newest is. */
  policies: Row<PolicyRecord, { by: 'set_by'; policy: 'content' }>;
  /** The signed statements of a channel's move, in their envelopes; the newest is valid. */
  attestations: Row<MoveAttestation>;
  pools: Row<PoolRecord>;
  nodes: NodesTable;
  withdrawals: WithdrawalsTable;
  holds: Row<Hold, { by: 'held_by' }>;
  pool_models: PoolModelsTable;
  support_dates: Row<SetSupportDate, { by: 'set_by' }>;
  notices: { kind: string; subject: string; mark: string; at: string };
  limit_samples: { place: string; name: string; day: string; used: number; ceiling: number };
  galleries: Row<GalleryRecord, { by: 'added_by' }>;
  clusters: Row<ClusterRecord, { by: 'added_by' }>;
  rollouts: Row<RolloutRecord, { from: 'from_image' }>;
  problems: Row<ProblemRecord> & { source: string };
  webhooks: WebhooksTable;
  webhook_deliveries: Omit<Row<Delivery>, 'next_at'> & { next_at: string; body: string };
  tokens: Defaults<Row<TokenRecord>, 'created_at'> & { secret_hash: Buffer };
  audit: AuditTable;
  idempotency_keys: IdempotencyKeysTable;
  spent_keys: { hash: string };
  schedules: Defaults<Row<Omit<ScheduleRecord, 'nextAt'>, { by: 'requested_by' }>, 'created_at'>;
}
