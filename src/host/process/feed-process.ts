// Gives a program what it reads from its standard input.
import { finished } from 'node:stream/promises';

/**
 * Each piece has been taken by the program's pipe before the next one is asked for, so that a source may use one piece
 * of memory for all. Returns the error of the source, if it had one, after `giveUp`; a program that stops reading
 * explains itself by its exit, and the source is not waited for then.
 */
export async function feedProcess(
  source: AsyncIterable<Uint8Array> | undefined,
  target: NodeJS.WritableStream | null,
  giveUp: () => void,
): Promise<unknown> {
  if (source === undefined || target === null) return undefined;
  let gone = false;
  let leave = () => {};
  for (const event of ['error', 'close']) {
    target.on(event, () => {
      gone = true;
      leave();
    });
  }
  /** Undefined when the program stops reading first. A race would keep all that ever went through it. */
  const orGone = <T>(work: Promise<T>) =>
    new Promise<T | undefined>((resolve, reject) => {
      leave = () => resolve(undefined);
      work.then(resolve, reject);
    });
  const pieces = source[Symbol.asyncIterator]();
  try {
    while (!gone) {
      const piece = await orGone(pieces.next());
      if (piece?.done === true) break;
      if (piece !== undefined) await orGone(written(target, piece.value));
    }
    if (gone) {
      void pieces.return?.().catch(() => undefined);
      return undefined;
    }
  } catch (error) {
    giveUp();
    return error;
  }
  target.end();
  await finished(target).catch(() => undefined);
  return undefined;
}

function written(target: NodeJS.WritableStream, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => target.write(piece, () => resolve()));
}
