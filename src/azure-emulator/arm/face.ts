// What the resource kinds share: one subscription with its cloud, its documents, and its operations.
import type { Clock } from '../../ports/clock.ts';
import type { SimProvider } from '../../providers/sim/provider.ts';
import type { Blobs } from '../blob/blobs.ts';
import type { Budget, Budgets } from './budget.ts';
import type { Documents } from './documents.ts';
import type { Json } from './json.ts';
import type { Operations, Reply } from './operations.ts';
import type { Address } from './resource-id.ts';

export interface Face {
  readonly subscription: string;
  readonly clock: Clock;
  readonly cloud: SimProvider;
  readonly documents: Documents;
  readonly operations: Operations;
  readonly budgets: Budgets;
  /** The contents of disks and blobs, of all subscriptions. */
  readonly blobs: Blobs;
  /** All subscriptions, this one among them. */
  faces(): readonly Face[];
}

export interface Call {
  readonly face: Face;
  readonly address: Address;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly apiVersion: string;
  readonly body: Json;
  readonly origin: string;
  /** Of the request, in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Asks the emulator itself, as deployments do for each of their resources. */
  ask(method: string, path: string, body: Json): Promise<Reply>;
}

/** One route: its budgets and what answers it. */
export interface Route {
  readonly budget?: Budget;
  readonly budgets?: readonly Budget[] | ((call: Call) => readonly Budget[]);
  answer(call: Call): Promise<Reply>;
}

/** Routes by method, type, and whether a resource or a list is meant: `GET galleries/images/*`, `GET galleries`. */
export type Routes = Readonly<Record<string, Route>>;

/** The model compares owners and can be cancelled; a request does neither. */
export const modelCall = { signal: new AbortController().signal, epoch: 0 } as const;
