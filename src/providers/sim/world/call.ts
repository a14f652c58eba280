// The one way into the simulated world. Each call is admitted (stale owner, throttling), struck by the fault
// that was ordered for it if there is one, and otherwise done, all in one transaction.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Page } from '../../../ports/page.ts';
import type { CallOptions, ProvisioningError } from '../../../ports/provider/call.ts';
import type { Fault } from '../../../ports/provider/sim-control.ts';
import { checkEpoch, settled } from '../../common/owner.ts';
import { takeFault } from './faults.ts';
import { type Ceilings, countCall, throttled } from './throttle.ts';
import type { World } from './world.ts';

/** Thrown where a fault kills the process, when the process is not really killed. */
export class SimCrash extends Error {
  constructor(call: string) {
    super(`The process died at ${call}.`);
    this.name = 'SimCrash';
  }
}

/** How a fault bends what a call starts. */
export interface Bend {
  /** What it starts takes so many times longer. */
  readonly factor: number;
  /** What it starts ends failed with this; with a region, only the copy there. */
  readonly failure?: ProvisioningError & { readonly region?: string };
}

export interface CallSpec<T> {
  /** Role and method. */
  readonly call: string;
  /**
   * What it is about: `web` (a pool, image, machine, snapshot), `web/web-000001` (a node), `node/1.34.2` (a
   * version), the lock's digest (a build), what is listed in, or nothing.
   */
  readonly name: string;
  /** Reads are never refused for a stale epoch. */
  readonly writes: boolean;
  /** The answer when it did nothing. */
  readonly nothing: () => T;
}

/** A call that changes something and answers with nothing. */
export function writes(call: string, name: string): CallSpec<void> {
  return { call, name, writes: true, nothing: () => undefined };
}

/** A call that only looks; `nothing` is what it answers when it sees nothing. */
export function reads<T>(call: string, name: string, nothing: () => T): CallSpec<T> {
  return { call, name, writes: false, nothing };
}

/** A call that looks for one thing. */
export function finds<T>(call: string, name: string): CallSpec<T | undefined> {
  return reads<T | undefined>(call, name, () => undefined);
}

/** A call that looks through a list. */
export function lists<T>(call: string, name: string): CallSpec<Page<T>> {
  return reads<Page<T>>(call, name, () => ({ items: [] }));
}

export interface SimCall {
  /** A call whose work is one transaction. */
  <T>(spec: CallSpec<T>, options: CallOptions, body: (bend: Bend) => T): Promise<T>;
  /** A call that goes on for a while; `body` makes its own transactions. */
  long<T>(spec: CallSpec<T>, options: CallOptions, body: (bend: Bend) => Promise<T>): Promise<T>;
}

export interface SimCallParts {
  readonly world: World;
  readonly clock: Clock;
  readonly ceilings: Ceilings;
  readonly fencing: boolean;
  readonly die: () => void;
}

const straight: Bend = { factor: 1 };
const slowByDefaultMs = 60_000;

export function createSimCall(parts: SimCallParts): SimCall {
  const { world } = parts;

  function fence(spec: CallSpec<unknown>, options: CallOptions): void {
    if (parts.fencing)
      checkEpoch(world, { writes: spec.writes, what: `${spec.call} ${spec.name}` }, options.epoch);
  }

  function admit(spec: CallSpec<unknown>, options: CallOptions): Fault | undefined {
    fence(spec, options);
    countCall(world, parts.ceilings, spec.call);
    return takeFault(world, spec.call, spec.name);
  }

  async function once<T>(spec: CallSpec<T>, options: CallOptions, body: (bend: Bend) => T): Promise<T> {
    options.signal.throwIfAborted();
    const first = world.transaction(() => {
      const fault = admit(spec, options);
      if (fault !== undefined) return { fault };
      return { settled: settled(() => world.attempt(() => body(straight))) };
    });
    if (first.settled !== undefined) return first.settled();
    return strike(first.fault, spec, options, async (bend) =>
      world.transaction(() => {
        fence(spec, options);
        return body(bend);
      }),
    );
  }

  async function long<T>(
    spec: CallSpec<T>,
    options: CallOptions,
    body: (bend: Bend) => Promise<T>,
  ): Promise<T> {
    options.signal.throwIfAborted();
    const fault = world.transaction(() => admit(spec, options));
    if (fault === undefined) return body(straight);
    return strike(fault, spec, options, (bend) => {
      world.transaction(() => fence(spec, options));
      return body(bend);
    });
  }

  async function strike<T>(
    fault: Fault,
    spec: CallSpec<T>,
    { signal }: CallOptions,
    body: (bend: Bend) => Promise<T>,
  ): Promise<T> {
    const said = fault.message ?? `${spec.call} ${spec.name} failed, as fault ${fault.id} ordered`;
    switch (fault.kind) {
      case 'fails':
        throw new ImagoError('provider-failed', `${said}.`);
      case 'fails-but-took-effect':
        await body(straight);
        throw new ImagoError('provider-failed', `${said}.`);
      case 'succeeds-but-did-nothing':
        return spec.nothing();
      case 'reply-lost':
        await body(straight);
        throw new ImagoError('provider-no-reply', `The reply to ${spec.call} ${spec.name} was lost.`);
      case 'hangs':
        return hang(parts.clock, fault, spec, signal);
      case 'throttled':
        throw throttled(spec.call, fault.ms ?? slowByDefaultMs);
      case 'slow':
        await parts.clock.sleep(fault.ms ?? slowByDefaultMs, signal);
        return body({ factor: fault.factor ?? 1 });
      case 'fails-later':
        return body({ factor: 1, failure: failureOf(fault, said) });
      case 'dies-before':
        return die(spec);
      case 'dies-after':
        await body(straight);
        return die(spec);
    }
  }

  function die(spec: CallSpec<unknown>): never {
    parts.die();
    throw new SimCrash(spec.call);
  }

  return Object.assign(once, { long });
}

async function hang(
  clock: Clock,
  fault: Fault,
  spec: CallSpec<unknown>,
  signal: AbortSignal,
): Promise<never> {
  if (fault.ms === undefined) {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
  await clock.sleep(fault.ms ?? 0, signal);
  throw new ImagoError('provider-timeout', `${spec.call} ${spec.name} was not answered in time.`);
}

function failureOf(fault: Fault, said: string): NonNullable<Bend['failure']> {
  return {
    code: 'OrderedFault',
    message: `${said}.`,
    ...(fault.region === undefined ? {} : { region: fault.region }),
  };
}
