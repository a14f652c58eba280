// What an operation is: a list of named steps with do, verify and undo, and the record that it leaves.
import type { Requester } from '../../domain/access/roles.ts';
import type { OperationRecord, OperationState, StepRecord } from '../../domain/operation/record.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Clock } from '../clock.ts';
import type { Page, PageQuery } from '../page.ts';

export type {
  OperationRecord,
  OperationState,
  Progress,
  StepRecord,
  StepState,
} from '../../domain/operation/record.ts';

export interface OperationRequest extends Requester {
  readonly kind: string;
  readonly subject: string;
  readonly input: Json;
  /** Operations with one key run one at a time. Defaults to the kind's own key, or to the subject. */
  readonly key?: string;
  /** What to do when another operation holds the key. Defaults to `wait`. */
  readonly whenBusy?: 'wait' | 'refuse';
  readonly parent?: string;
  readonly retryOf?: string;
  /** Chosen by the caller when the request must be safe to repeat; a second request with it changes nothing. */
  readonly id?: string;
}

/** What a step's body has to work with. */
export interface StepContext<Input = Json> {
  readonly operation: Requester & {
    readonly id: string;
    readonly kind: string;
    readonly subject: string;
  };
  readonly input: Input;
  /** The recorded result of an earlier step of this run; `undefined` when it gave none or was not in the list. */
  result<T extends Json>(step: string): T | undefined;
  /** Aborted when the body must stop: cancel was asked for, or this process may no longer act. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  progress(done: number, total: number, sentence: string): void;
  /** One line into the operation's log. Never a secret. */
  log(line: string): void;
}

/** The ordinary step: makes a change, reads back that it holds, and can undo it. */
export interface WorkStep<Input = Json> {
  /** Recorded when an operation starts: released names stay, or are mapped in `renamed`. */
  readonly name: string;
  /**
   * Makes it so. Called again after a crash, so it adopts what an earlier call left. What it returns is
   * recorded and shown: never a secret.
   */
  do(context: StepContext<Input>): Promise<Json | undefined>;
  /**
   * Reads whether it holds: returns what `do` would have returned (`null` when that is nothing), or
   * `undefined` if it does not. Called before `do`, when a hit means that `do` is skipped, and after it:
   * the read decides, whatever `do` said. Steps without effect on the world have none.
   */
  verify?(context: StepContext<Input>): Promise<Json | undefined>;
  /**
   * Undoes what `do` changed, even if `do` failed half-way. Called in reverse order after a failure or
   * a cancel, for steps that were begun; not for steps that were so before the operation began. Tried several
   * times, and read back: when `verify` still finds it so, or every try failed, the operation records an
   * exception that a person must see, and goes on undoing the others. Cancel does not reach it. Steps whose
   * result is only costly (a download, a layer) have none; one that leaves half of it when it is stopped takes
   * that half away, and answers `kept` when it finds the whole.
   */
  undo?(context: StepContext<Input>): Promise<'kept' | undefined>;
  /**
   * How often `do` is tried when it throws a retryable error, with growing pauses (or after the error's
   * `details.retryAfterMs`). Defaults to 5.
   */
  readonly tries?: number;
  /**
   * How long one try of `do`, `verify` or `undo` may take before its signal is aborted and the try counts as
   * failed with `operation-step-timeout`, which is retried like any other. Defaults to an hour.
   */
  readonly timeoutMs?: number;
}

/** Runs another operation and waits for its end; its failure is this step's failure, cancel reaches it too. */
export interface ChildStep<Input = Json> {
  readonly name: string;
  /** `undefined` when there is nothing to do: the step is skipped. */
  child(context: StepContext<Input>): Omit<OperationRequest, keyof Requester | 'parent' | 'id'> | undefined;
}

/** Checks periodically, durably, until a condition holds, and holds nothing in memory in the meantime. */
export interface UntilStep<Input = Json> {
  readonly name: string;
  /** How long it goes on; then it fails with `operation-wait-timeout` and the last sentence. */
  patience(context: StepContext<Input>): { readonly timeoutMs: number };
  /**
   * Reads only. `done` ends the step with that result; otherwise what is waited for, and when at the latest it is
   * to look again. A retryable error is a look that found nothing; any other fails the step.
   */
  look(
    context: StepContext<Input>,
  ): Promise<{ readonly done: Json } | { readonly againMs: number; readonly sentence: string }>;
}

export type Step<Input = Json> = WorkStep<Input> | ChildStep<Input> | UntilStep<Input>;

export interface PreparedRequest {
  /** The state of the subject before, for the audit. */
  readonly before?: Json | undefined;
  /** Fields of the input that record what the caller saw, such as where a channel points. */
  readonly input?: Readonly<Record<string, Json>> | undefined;
}

/** A kind of operation: how its input is read and which steps it has. */
export interface OperationKind<Input = Json> {
  readonly kind: string;
  /** Checks the input before anything is recorded; throws an `input-invalid` error. */
  parse(input: Json): Input;
  /** The key of kinds that must not wait for all other work on their subject. Defaults to the subject. */
  key?(input: Input, id: string): string;
  /**
   * What it would do if `by` requested it, one sentence each, from reading alone. Throws what a start would be
   * refused with. With `preview`, for a dry run, it may look longer than there is time for before each start.
   */
  plan(input: Input, by: Requester, preview?: boolean): Promise<readonly string[]>;
  /** What a request through the API adds to the input and to the audit. Throws if there is no such subject. */
  prepare?(input: Input, by: Requester): Promise<PreparedRequest>;
  /** The steps for this input, in order. Recorded by name when the operation starts. */
  steps(input: Input): readonly Step<Input>[];
  /** Old step name to new one, for operations that an earlier version of Imago began. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Steps that no longer exist: operations that an earlier version began skip them. */
  readonly removed?: readonly string[];
  /** What the operation answers with when all steps are done. Defaults to the last step's result. */
  result?(context: StepContext<Input>): Json;
}

/** As much of a live operation as it takes to run it. */
export type LiveOperation = Pick<OperationRecord, 'id' | 'key' | 'state' | 'cancelRequestedBy'>;

/** Where operations are recorded. The PostgreSQL one is the truth that people see; tests use one in memory. */
export interface Journal {
  /**
   * Records a new operation in state `queued`. With an id that exists it returns that record unchanged.
   * With `whenBusy: 'refuse'` and another live operation on the key it throws `operation-busy`.
   */
  create(
    request: OperationRequest & { readonly id: string; readonly steps: readonly string[] },
    at: number,
  ): Promise<OperationRecord>;
  get(id: string): Promise<OperationRecord | undefined>;
  /** The operations that this one started, oldest first, in one read whatever their number. */
  childStates(parent: string): Promise<readonly ChildState[]>;
  /**
   * Merges the fields into the record, and into the steps that are named; a field that is `undefined` is removed.
   * Refused with `owner-stale` when this process is no longer the active one, `operation-not-found` for an unknown id,
   * `operation-unknown-step` for a step that was not in the list at the start.
   */
  update(
    id: string,
    change: OperationChange & { readonly steps?: Readonly<Record<string, StepChange>> },
    options?: JournalWrite,
  ): Promise<void>;
  log(id: string, at: number, lines: readonly string[]): Promise<void>;
  /** Live operations (not ended), oldest first: what must be enqueued again after a crash. */
  live(): Promise<readonly LiveOperation[]>;
  /** Throws `operation-busy` if a live operation has the key. */
  requireFree(key: string): Promise<void>;
  /**
   * Whether a live operation with the key waits, however indirectly, for this operation: a parent waits for its
   * children, and an operation in the queue for all others with its key.
   */
  isAwaitedUnder(key: string, id: string): Promise<boolean>;
  /** Whether this operation, or one that it is a child of, however indirectly, has the key. */
  isHeldBy(key: string, id: string): Promise<boolean>;
  /** Sets the flag that the operation sees and answers by undoing. A second call keeps the first name. */
  requestCancel(id: string, by: string): Promise<void>;
}

/** What a parent needs to know of an operation that it started. */
export type ChildState = Pick<
  OperationRecord,
  'id' | 'state' | 'createdAt' | 'startedAt' | 'endedAt' | 'error' | 'progress'
>;

export interface JournalWrite {
  /**
   * `false` lets the call return before the write has reached the disk: when the database dies at that moment
   * the write may be lost, never reordered. A later durable write makes it safe too. Defaults to true.
   */
  readonly durable?: boolean;
}

/** Fields to merge: `undefined` removes a field. */
type Change<T> = { readonly [K in keyof T]?: T[K] | undefined };

export type OperationChange = Change<
  Pick<
    OperationRecord,
    'state' | 'currentStep' | 'progress' | 'result' | 'error' | 'exceptions' | 'startedAt' | 'endedAt'
  >
>;

export type StepChange = Change<Omit<StepRecord, 'name'>>;

/** What lists of operations can be narrowed by. */
export interface OperationFilter {
  readonly state?: OperationState;
  readonly kind?: string;
  readonly subject?: string;
  readonly parent?: string;
}

export interface OperationLogLine {
  readonly at: string;
  readonly line: string;
}

/** Reading of operations, for people. */
export interface OperationLists {
  /** Newest first. */
  list(filter: OperationFilter, query: PageQuery): Promise<Page<OperationRecord>>;
  /** At most two ids, so that a text that means more than one is noticed. */
  startingWith(start: string): Promise<readonly string[]>;
  children(id: string): Promise<readonly OperationRecord[]>;
  logs(id: string, query: PageQuery): Promise<Page<OperationLogLine>>;
}

/** The way in to operations, for routes and for operations that start others. */
export interface OperationDesk {
  /** What `submit` would do, or the error it would be refused with. Writes nothing; a preview may take longer. */
  plan(request: OperationRequest, options?: { readonly preview: boolean }): Promise<readonly string[]>;
  /** What the kind adds to a request through the API. Throws if there is no such subject. */
  prepare(request: OperationRequest): Promise<PreparedRequest>;
  /** Checks the input, records the operation and enqueues it. Same id again: the same operation. */
  submit(request: OperationRequest): Promise<OperationRecord>;
  /** Asks a live operation to undo and stop. `operation-ended` when it has ended. */
  cancel(id: string, by: string): Promise<OperationRecord>;
  /**
   * A new operation of the same request; steps whose check already holds are skipped. With a name for the new one
   * a second call gives the one that the first call began.
   */
  retry(id: string, by: string, newId?: string, osUser?: string): Promise<OperationRecord>;
  /** Makes a step that waits check immediately. `operation-ended` when the operation has ended. */
  wake(id: string): Promise<void>;
  /** Resolves when the operation has ended. */
  ended(id: string, signal: AbortSignal): Promise<OperationRecord>;
}
