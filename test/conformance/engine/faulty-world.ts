// A small world in which operations make things, with faults that a test orders call by call: the ways in
// which providers really fail. What a dead process still tries to do in it has no effect.
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { OperationKind, StepContext, WorkStep } from '../../../src/ports/workflow/operation.ts';

export type Fault =
  | 'none'
  | 'fails'
  | 'fails for good'
  | 'fails after the effect'
  | 'does nothing'
  | 'hangs'
  | 'is throttled'
  | 'dies before'
  | 'dies after';

export const faults: readonly Fault[] = [
  'none',
  'fails',
  'fails for good',
  'fails after the effect',
  'does nothing',
  'hangs',
  'is throttled',
  'dies before',
  'dies after',
];

/** The process that a step runs in, as far as the world knows it. */
export interface WorldProcess {
  alive(): boolean;
  die(): void;
}

export interface FaultyWorld {
  readonly things: Map<string, string>;
  /** Every call that reached the world: `do a`, `undo a`. */
  readonly calls: string[];
  /** Faults by call (`do a`), used up one by one; then everything goes well. */
  readonly ordered: Map<string, Fault[]>;
  /** Told before every call, and for which operation it is. */
  onCall: (call: string, operation: string) => void;
  /** Set by whoever starts a process. */
  process: WorldProcess;
}

export function createFaultyWorld(things: Iterable<[string, string]> = []): FaultyWorld {
  return {
    things: new Map(things),
    calls: [],
    ordered: new Map(),
    onCall: () => undefined,
    process: { alive: () => true, die: () => undefined },
  };
}

export interface ThingOptions {
  readonly undo?: boolean;
  readonly verify?: boolean;
}

/** A step that makes one thing, under a process of its own. */
export function thingStep(world: FaultyWorld, name: string, options: ThingOptions = {}): WorkStep<unknown> {
  const { undo = true, verify = true } = options;
  const owner = world.process;

  async function call(what: 'do' | 'undo' | 'verify', context: StepContext<unknown>, effect: () => void) {
    if (!owner.alive()) return never();
    const line = `${what} ${name}`;
    world.onCall(line, context.operation.id);
    world.calls.push(line);
    const fault = world.ordered.get(line)?.shift() ?? 'none';
    await suffer(fault, owner, context, effect);
  }

  return {
    name,
    timeoutMs: 60_000,
    async do(context) {
      await call('do', context, () => world.things.set(name, context.operation.id));
      return { made: name };
    },
    ...(verify && {
      async verify(context) {
        await call('verify', context, () => undefined);
        return world.things.has(name) ? { made: name } : undefined;
      },
    }),
    ...(undo && {
      async undo(context) {
        await call('undo', context, () => world.things.delete(name));
        return undefined;
      },
    }),
  };
}

async function suffer(
  fault: Fault,
  owner: WorldProcess,
  context: StepContext<unknown>,
  effect: () => void,
): Promise<void> {
  switch (fault) {
    case 'none':
      return effect();
    case 'does nothing':
      return undefined;
    case 'fails':
      throw new ImagoError('provider-failed', 'The provider failed.');
    case 'fails for good':
      throw new ImagoError('provider-quota', 'The provider has no room.');
    case 'fails after the effect':
      effect();
      throw new ImagoError('provider-no-reply', 'The reply was lost.');
    case 'is throttled':
      throw new ImagoError('provider-throttled', 'Slow down.', { details: { retryAfterMs: 5_000 } });
    case 'hangs':
      return new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason), { once: true });
      });
    case 'dies before':
      owner.die();
      return never();
    case 'dies after':
      effect();
      owner.die();
      return never();
  }
}

/** An operation that makes the things of its input, one step each. */
export function makeThings(
  world: FaultyWorld,
  options: (name: string) => ThingOptions = () => ({}),
): OperationKind<readonly string[]> {
  return {
    kind: 'make-things',
    parse: (input) => input as readonly string[],
    plan: async (names) => names.map((name) => `Make ${name}.`),
    steps: (names) => names.map((name) => thingStep(world, name, options(name))),
  };
}

export function never(): Promise<never> {
  return new Promise(() => undefined);
}
