// The way into the cloud: each call is one transaction, made by the daemon that owns the cloud now.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import { type Bend, bendOf, type Cloud } from './cloud.ts';
import type { World } from './state-file.ts';

/** Runs a call that only reads, in one transaction. */
export async function look<T>({ world, abilities }: Cloud, options: CallOptions, body: () => T): Promise<T> {
  options.signal.throwIfAborted();
  return world.transaction(() => {
    if (abilities.fencing) checkEpoch(world, { writes: false, what: '' }, options.epoch);
    return settled(() => world.attempt(body));
  })();
}

/** Runs a call that writes, in one transaction. `what` names the change when a stale owner is refused. */
export async function change<T>(
  cloud: Cloud,
  what: string,
  options: CallOptions,
  body: (bend: Bend) => T,
): Promise<T> {
  options.signal.throwIfAborted();
  const { world } = cloud;
  return world.transaction(() =>
    settled(() => {
      fence(cloud, what, options);
      return world.attempt(() => body(bendOf(options)));
    }),
  )();
}

/** Refuses a stale owner before work that is more than a transaction. */
export function admit(cloud: Cloud, what: string, options: CallOptions): void {
  options.signal.throwIfAborted();
  cloud.world.transaction(() => settled(() => fence(cloud, what, options)))();
}

function fence({ world, abilities }: Cloud, what: string, { epoch }: CallOptions): void {
  if (abilities.fencing) checkEpoch(world, { writes: true, what }, epoch);
}

/** Every call shows which owner acts now; only writes of an older owner are refused. */
function checkEpoch(
  world: World,
  call: { readonly writes: boolean; readonly what: string },
  epoch: number,
): void {
  const largest = Number(world.fact('epoch') ?? Number.NEGATIVE_INFINITY);
  if (epoch > largest) world.setFact('epoch', String(epoch));
  if (epoch >= largest || !call.writes) return;
  throw new ImagoError(
    'owner-stale',
    `Owner ${epoch} asked for a change of ${call.what}, but owner ${largest} is active now.`,
  );
}

/** Keeps a refusal, so that the transaction around it is still committed. */
function settled<T>(body: () => T): () => T {
  try {
    const value = body();
    return () => value;
  } catch (thrown) {
    if (!(thrown instanceof ImagoError)) throw thrown;
    return () => {
      throw thrown;
    };
  }
}
