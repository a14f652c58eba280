// The tables of the schema `imago` as the queries see them. Times are ISO texts, JSON columns are texts that
// `json.ts` reads and writes.
import type { ColumnType, Generated } from 'kysely';
import type { Role } from '../../domain/access/roles.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import type { NumberingPolicy } from '../../domain/image/numbering.ts';
import type { Architecture, OperatingSystem } from '../../domain/image/version.ts';
import type { RestorableState, VersionState } from '../../domain/image/version-state.ts';
import type { Orchestration, ProviderName } from '../../domain/pool/pool.ts';
import type { DeliveryState, WebhookState } from '../../domain/webhook/webhook.ts';
import type { OperationState, StepState } from '../../ports/workflow/operation.ts';

/** Set by the database, never by us. */
type Given<T> = ColumnType<T, never, never>;

export interface EventsTable {
  id: Given<number>;
  at: Given<string>;
  type: string;
  subject: string;
  data: string;
}

export interface OperationsTable {
  /** In the order in which operations were made, whatever the clock says. */
  seq: Given<number>;
  id: string;
  kind: string;
  subject: string;
  requested_by: string;
  os_user: string | null;
  key: string;
  input: string;
  state: OperationState;
  current_step: string | null;
  progress: string | null;
  result: string | null;
  error: string | null;
  exceptions: Generated<string>;
  cancel_requested_by: string | null;
  parent: string | null;
  retry_of: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
}

export interface StepsTable {
  operation: string;
  position: number;
  name: string;
  state: Generated<StepState>;
  attempts: Generated<number>;
  started_at: string | null;
  ended_at: string | null;
  result: string | null;
  error: string | null;
}

export interface CallsTable {
  run: string;
  place: number;
  name: string;
  value: string;
}

export interface OperationLogsTable {
  id: Given<number>;
  operation: string;
  at: string;
  line: string;
}

export interface ImagesTable {
  name: string;
  os: OperatingSystem;
  architecture: Architecture;
  numbering: NumberingPolicy;
  /** The Kubernetes versions that the recipe lists. */
  matrix: Generated<string[]>;
  simulated: Generated<boolean>;
  created_at: string;
}

/** Every number that was ever used. Rows are never deleted. */
export interface NumbersTable {
  image: string;
  number: string;
  operation: string;
  /** Chosen by Imago for this operation, rather than brought along with an import. */
  reserved: boolean;
  /** Of the version that got it; set once. */
  digest: string | null;
  at: string;
}

export interface VersionsTable {
  image: string;
  version: string;
  major: Given<number>;
  minor: Given<number>;
  patch: Given<number>;
  digest: string;
  disk_digest: string;
  size_bytes: number;
  state: VersionState;
  origin: string;
  lock_digest: string | null;
  kubernetes: string | null;
  reason: string | null;
  withdrawn_from: RestorableState | null;
  restricted: Generated<boolean>;
  simulated: Generated<boolean>;
  operation: string;
  created_at: string;
}

export interface ChannelsTable {
  image: string;
  name: string;
  for_testing: boolean;
  managed: boolean;
  position: Generated<number>;
  public: Generated<boolean>;
  simulated: Generated<boolean>;
  version: string | null;
  digest: string | null;
  move: number | null;
  moved_at: string | null;
}

export interface ChannelMovesTable {
  id: Given<number>;
  image: string;
  channel: string;
  from_version: string | null;
  to_version: string | null;
  to_digest: string | null;
  moved_by: string;
  why: string;
  operation: string | null;
  policy: string | null;
  at: string;
}

/** Units that were tested together; named by the digest of their content. */
export interface ComposedVersionsTable {
  id: string;
  digest: string;
  content: string;
  at: string;
}

/** Every policy that was ever in force; the newest is. */
export interface PoliciesTable {
  id: Given<number>;
  text: string;
  content: string;
  digest: string;
  set_by: string;
  why: string;
  at: string;
}

/** The signed statements of a channel's move, in their envelopes; the newest is in force. */
export interface AttestationsTable {
  id: Given<number>;
  move: number;
  digest: string;
  predicate_type: string;
  envelope: string;
  at: string;
}

export interface EvidenceTable {
  id: Given<number>;
  digest: string;
  kind: Evidence['kind'];
  passed: boolean;
  summary: string;
  details: string;
  given_by: string;
  operation: string | null;
  composed: string | null;
  simulated: Generated<boolean>;
  at: string;
}

export interface PoolsTable {
  name: string;
  provider: ProviderName;
  orchestration: Orchestration;
  region: string | null;
  size: string;
  reference: string;
  follows: string | null;
  image: string;
  version: string;
  digest: string;
  move: number | null;
  node_config: string;
  created_at: string;
}

/** One row for each disk that a machine ever had; the live one has no `ended_at`. */
export interface NodesTable {
  id: Given<number>;
  name: string;
  pool: string;
  machine_id: string;
  image: string;
  version: string;
  digest: string;
  reference: string;
  channel: string | null;
  move: number | null;
  at: string;
  schedulable: Generated<boolean>;
  ended_at: string | null;
}

/** Why versions are out of use. Rows are lifted, never deleted. */
export interface WithdrawalsTable {
  id: Given<number>;
  image: string;
  version: string;
  cause: number | null;
  reason: string;
  with_descendants: boolean;
  effective_at: string;
  asked_by: string;
  operation: string;
  at: string;
  applied_at: string | null;
  lifted_at: string | null;
  lifted_by: string | null;
  lifted_why: string | null;
  lifted_operation: string | null;
}

export interface HoldsTable {
  image: string;
  version: string;
  reason: string;
  held_by: string;
  at: string;
}

/** What new nodes of each pool were ever made from. Written by a trigger. */
export interface PoolModelsTable {
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

export interface SupportDatesTable {
  product: string;
  line: string;
  ends_on: ColumnType<Date, string, string>;
  note: string;
  set_by: string;
  at: string;
}

export interface NoticesTable {
  kind: string;
  subject: string;
  mark: string;
  at: string;
}

export interface LimitSamplesTable {
  place: string;
  name: string;
  day: ColumnType<Date, string, string>;
  used: number;
  ceiling: number;
}

export interface GalleriesTable {
  name: string;
  provider: string;
  place: string | null;
  home: string | null;
  channels: string;
  regions: string;
  public: boolean;
  azure: string | null;
  added_by: string;
  at: string;
}

export interface ProblemsTable {
  id: Given<number>;
  source: string;
  kind: string;
  subject: string;
  message: string;
  hint: string | null;
  count: number;
  first_at: string;
  last_at: string;
  resolved_at: string | null;
  resolved_by: string | null;
  reason: string | null;
}

export interface WebhooksTable {
  name: string;
  url: string;
  events: string;
  image: string | null;
  allow_private: boolean;
  salt: string;
  key_id: string;
  seen: number;
  state: WebhookState;
  added_by: string;
  at: string;
}

export interface WebhookDeliveriesTable {
  id: Given<number>;
  webhook: string;
  event: number;
  type: string;
  body: string;
  state: DeliveryState;
  attempts: number;
  next_at: string;
  status: number | null;
  error: string | null;
  at: string;
  ended_at: string | null;
}

export interface TokensTable {
  id: string;
  owner: string;
  role: Role;
  secret_hash: Buffer;
  created_at: Generated<string>;
  expires_at: string;
  revoked_at: string | null;
  last_used_at: string | null;
}

export interface AuditTable {
  id: Given<number>;
  at: Given<string>;
  who: string;
  what: string;
  subject: string;
  before: string | null;
  after: string | null;
  request_id: string;
  status: number;
  /** Chosen by the writer, so that one who does not know whether the entry arrived can write it again. */
  entry: string;
  os_user: string | null;
}

export interface IdempotencyKeysTable {
  key: string;
  who: string;
  fingerprint: string;
  /** Of the daemon that claimed it: a claim of an earlier one that was never finished is free again. */
  epoch: number;
  claimed_at: Generated<string>;
  /** Chosen by the claimant, so that one who does not know whether the claim arrived can claim again. */
  claim: string;
  status: number | null;
  body: string | null;
}

export interface SchedulesTable {
  name: string;
  cron: string;
  time_zone: string;
  kind: string;
  subject: string;
  input: string;
  requested_by: string;
  os_user: string | null;
  created_at: Generated<string>;
  last_fired_at: string | null;
  last_operation: string | null;
  stopped_at: string | null;
  stopped_why: string | null;
}

export interface Tables {
  events: EventsTable;
  operations: OperationsTable;
  steps: StepsTable;
  calls: CallsTable;
  operation_logs: OperationLogsTable;
  images: ImagesTable;
  numbers: NumbersTable;
  versions: VersionsTable;
  channels: ChannelsTable;
  channel_moves: ChannelMovesTable;
  evidence: EvidenceTable;
  composed_versions: ComposedVersionsTable;
  policies: PoliciesTable;
  attestations: AttestationsTable;
  pools: PoolsTable;
  nodes: NodesTable;
  withdrawals: WithdrawalsTable;
  holds: HoldsTable;
  pool_models: PoolModelsTable;
  support_dates: SupportDatesTable;
  notices: NoticesTable;
  limit_samples: LimitSamplesTable;
  galleries: GalleriesTable;
  problems: ProblemsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  tokens: TokensTable;
  audit: AuditTable;
  idempotency_keys: IdempotencyKeysTable;
  spent_keys: { hash: string };
  schedules: SchedulesTable;
}
