// Wraps a provider so that its calls are throttled, and fail as the injected faults require.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { Fault } from '../../ports/provider/sim-control.ts';
import { type Bend, type BentOptions, straight } from '../state/cloud.ts';
import type { World } from '../state/state-file.ts';
import { takeFault } from './faults.ts';
import { type Ceilings, countCall, throttled } from './throttle.ts';

/** Thrown where a fault kills the process, if the process is not really killed. */
export class SimCrash extends Error {
  constructor(call: string) {
    super(`The process died at ${call}.`);
    this.name = 'SimCrash';
  }
}

export interface FaultyParts {
  /** Holds the faults and the counts of calls, so that they outlive the process. */
  readonly world: World;
  readonly clock: Clock;
  readonly ceilings: Ceilings;
  readonly die: () => void;
  /** Returns what a call answers that succeeds without doing anything, where that follows from its arguments. */
  readonly unmade?: Readonly<Record<string, (first: never) => unknown>>;
}

const slowByDefaultMs = 60_000;

/** What calls answer that succeed without doing anything, and do not answer `undefined` or an empty list. */
const nothing: Readonly<Record<string, unknown>> = {
  console: [],
  limits: [],
  readDigest: '',
  getUserData: '',
  hasOwnUserData: false,
  runCommand: { exitCode: 0, stdout: '', stderr: '', truncated: false },
};

/** Methods that make no call. */
const noCalls: ReadonlySet<string | symbol> = new Set(['open', 'knownLock']);

interface Call {
  /** Role and method. */
  readonly call: string;
  /**
   * The subject: `web` (a pool, image, machine or snapshot), `web/web-000001` (a node), `node/1.34.2` (a version),
   * the lock's digest (a build), the gallery that is listed, or nothing.
   */
  readonly name: string;
  /** Empty if it goes to no gallery. */
  readonly gallery: string;
  readonly signal: AbortSignal;
  /** Makes the call. */
  make(bend: Bend): Promise<unknown>;
  nothing(): unknown;
}

/** A provider with the same roles. Work that its own roles start can be bent if they read `BentOptions`. */
export function withFaults<P extends Provider>(provider: P, parts: FaultyParts): P {
  const { gallery, galleries, pools, nodeConfigs, machines, disks, builder } = provider;
  const roles = { gallery, galleries, pools, nodeConfigs, machines, disks, builder };
  const wrapped = Object.entries(roles).flatMap(([name, role]) => {
    const scope = name === 'gallery' ? (galleries?.own ?? '') : '';
    return role === undefined ? [] : [[name, faultyRole(role, name, scope, parts)] as const];
  });
  return { ...provider, ...Object.fromEntries(wrapped) };
}

function faultyRole<R extends object>(role: R, roleName: string, scope: string, parts: FaultyParts): R {
  return new Proxy(role, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (roleName === 'galleries' && property === 'open') {
        return (name: string) => faultyRole(value.call(target, name), 'gallery', name, parts);
      }
      if (noCalls.has(property)) return value;
      const call = `${roleName}.${String(property)}`;
      return (...args: readonly unknown[]) => {
        const options = args.at(-1) as CallOptions;
        const make = (bend: Bend): Promise<unknown> =>
          value.call(target, ...args.slice(0, -1), { ...options, bend } satisfies BentOptions);
        const none = () => {
          const unmade = parts.unmade?.[call];
          if (unmade !== undefined) return unmade(args[0] as never);
          return String(property).startsWith('list') ? { items: [] } : nothing[String(property)];
        };
        return admitted(parts, {
          ...{ call, name: subjectOf(args, scope), gallery: scope, signal: options.signal },
          ...{ make, nothing: none },
        });
      };
    },
  });
}

/** Texts before the other arguments name the subject, or a spec does. */
function subjectOf([first, second]: readonly unknown[], scope: string): string {
  if (typeof first === 'string') return typeof second === 'string' ? `${first}/${second}` : first;
  const { name, image, version, lockDigest } = (first ?? {}) as Readonly<Record<string, unknown>>;
  if (name !== undefined) return String(name);
  if (image !== undefined) return `${image}/${version}`;
  return lockDigest === undefined ? scope : String(lockDigest);
}

async function admitted(parts: FaultyParts, call: Call): Promise<unknown> {
  call.signal.throwIfAborted();
  const fault = parts.world.transaction(() => {
    countCall(parts.world, parts.ceilings, call.call);
    return takeFault(parts.world, call);
  });
  return fault === undefined ? call.make(straight) : strike(parts, fault, call);
}

async function strike(parts: FaultyParts, fault: Fault, call: Call): Promise<unknown> {
  const said = fault.message ?? `${call.call} ${call.name} failed, as fault ${fault.id} ordered`;
  switch (fault.kind) {
    case 'fails':
      throw new ImagoError('provider-failed', `${said}.`);
    case 'fails-but-took-effect':
      await call.make(straight);
      throw new ImagoError('provider-failed', `${said}.`);
    case 'succeeds-but-did-nothing':
      return call.nothing();
    case 'reply-lost':
      await call.make(straight);
      throw new ImagoError('provider-no-reply', `The reply to ${call.call} ${call.name} was lost.`);
    case 'hangs':
      return hang(parts.clock, fault, call);
    case 'throttled':
      throw throttled(call.call, fault.ms ?? slowByDefaultMs);
    case 'slow':
      await parts.clock.sleep(fault.ms ?? slowByDefaultMs, call.signal);
      return call.make({ factor: fault.factor ?? 1 });
    case 'fails-later':
      return call.make({ factor: 1, failure: failureOf(fault, said) });
    case 'dies-before':
      return die(parts, call);
    case 'dies-after':
      await call.make(straight);
      return die(parts, call);
  }
}

function die({ die: kill }: FaultyParts, { call }: Call): never {
  kill();
  throw new SimCrash(call);
}

async function hang(clock: Clock, fault: Fault, { call, name, signal }: Call): Promise<never> {
  if (fault.ms === undefined) {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
  await clock.sleep(fault.ms ?? 0, signal);
  throw new ImagoError('provider-timeout', `${call} ${name} was not answered in time.`);
}

function failureOf(fault: Fault, said: string): NonNullable<Bend['failure']> {
  return {
    code: 'OrderedFault',
    message: `${said}.`,
    ...(fault.region === undefined ? {} : { region: fault.region }),
  };
}
