// Long-running operations: what a client polls, where, and how the answer looks while it runs and when it has ended.
import { randomUUID } from 'node:crypto';
import { gone } from './arm-error.ts';
import type { Json } from './json.ts';

export type OperationState =
  | { readonly status: 'InProgress' }
  | { readonly status: 'Succeeded'; readonly endedAt: number; readonly output?: Json }
  | { readonly status: 'Failed'; readonly endedAt: number; readonly error: Json };

/** The resource providers poll at addresses of their own. */
export type PollPath = 'capsOperations' | 'DiskOperations' | 'operations';

export interface KeptOperation {
  readonly id: string;
  readonly startedAt: number;
  /** The resource whose state tells how far the work is. */
  readonly resource: string;
}

interface Operation extends Omit<KeptOperation, 'id'> {
  readonly state: () => Promise<OperationState>;
}

export interface StartedOperation {
  readonly poll: PollPath;
  readonly location: string;
  /** Also sends `Location`, as deletions and actions do. */
  readonly monitored: boolean;
  readonly state: () => Promise<OperationState>;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

const ticksAtEpoch = 621_355_968_000_000_000n;
/** Clients wait 30 s without it, and take 0 for none. */
const retryAfter = { 'Retry-After': '1' };

export class Operations {
  readonly #operations = new Map<string, Operation>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  kept(): readonly KeptOperation[] {
    return [...this.#operations].map(([id, { startedAt, resource }]) => ({ id, startedAt, resource }));
  }

  /** Continues an operation of an earlier run. */
  resume({ id, startedAt, resource }: KeptOperation, state: () => Promise<OperationState>): void {
    this.#operations.set(id, { startedAt, resource, state });
  }

  /** Keeps the operation and returns the headers that tell where to poll it. */
  start(
    { poll, location, monitored, state }: StartedOperation,
    call: {
      readonly origin: string;
      readonly subscription: string;
      readonly apiVersion: string;
      readonly resource: string;
    },
  ): Readonly<Record<string, string>> {
    const id = randomUUID();
    const startedAt = this.#now();
    this.#operations.set(id, { startedAt, state, resource: call.resource });
    const path = `${call.origin}/subscriptions/${call.subscription}/providers/Microsoft.Compute/locations/${location}/${poll}/${id}`;
    const ticks = BigInt(Math.floor(startedAt)) * 10_000n + ticksAtEpoch;
    const owner = poll === 'operations' ? `p=${call.subscription}&` : '';
    const query = (monitor: string) =>
      `?${owner}${monitor}api-version=${call.apiVersion}&t=${ticks}&h=${id.slice(0, 8)}`;
    return {
      'Azure-AsyncOperation': path + query(''),
      ...(monitored ? { Location: path + query('monitor=true&') } : {}),
      ...(notifies(poll, call.apiVersion) ? { 'Azure-AsyncNotification': 'Enabled' } : {}),
      ...retryAfter,
    };
  }

  async answer(id: string, monitor: boolean): Promise<Reply> {
    const operation = this.#operations.get(id.toLowerCase());
    if (operation === undefined) {
      throw gone();
    }
    const state = await operation.state();
    if (monitor) return monitored(state);
    const { status } = state;
    const head = { startTime: azureTime(operation.startedAt) };
    if (state.status === 'InProgress') {
      return { status: 200, headers: retryAfter, body: { ...head, status, name: id } };
    }
    const ended = { ...head, endTime: azureTime(state.endedAt), status };
    if (state.status === 'Failed') return { status: 200, body: { ...ended, error: state.error, name: id } };
    const output = state.output === undefined ? {} : { properties: { output: state.output } };
    return { status: 200, body: { ...ended, ...output, name: id } };
  }
}

/** Galleries since 2025. */
function notifies(poll: PollPath, apiVersion: string): boolean {
  return poll === 'operations' || (poll === 'capsOperations' && apiVersion >= '2025-03-03');
}

function monitored(state: OperationState): Reply {
  if (state.status === 'InProgress') return { status: 202, headers: retryAfter };
  if (state.status === 'Failed') return { status: 409, body: { error: state.error } };
  return state.output === undefined ? { status: 200 } : { status: 200, body: state.output };
}

/** Azure writes times with an offset and seven digits. */
export function azureTime(ms: number): string {
  return new Date(ms).toISOString().replace(/(\.\d{3})Z$/, '$10000+00:00');
}
