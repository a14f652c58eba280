// Which daemon acts: a provider of our own compares the epochs of those who call it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { World } from './state-database.ts';

/** Every call shows which owner acts now; only writes of an older one are refused. */
export function checkEpoch(
  world: World,
  call: { readonly writes: boolean; readonly what: string },
  epoch: number,
): void {
  const largest = Number(world.fact('epoch') ?? Number.NEGATIVE_INFINITY);
  if (epoch > largest) world.setFact('epoch', String(epoch));
  if (epoch >= largest || !call.writes) return;
  throw new ImagoError(
    'owner-stale',
    `${call.what} was asked for by owner ${epoch}, and owner ${largest} acts by now.`,
  );
}

/** Keeps a refusal, so that the transaction around it is still committed: the call was counted and seen. */
export function settled<T>(body: () => T): () => T {
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
