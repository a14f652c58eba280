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
  const gone = new Promise<undefined>((resolve) => {
    target.on('error', () => resolve(undefined));
    target.on('close', () => resolve(undefined));
  });
  const pieces = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const piece = await Promise.race([pieces.next(), gone]);
      if (piece === undefined) {
        void pieces.return?.().catch(() => undefined);
        return undefined;
      }
      if (piece.done === true) break;
      await Promise.race([new Promise<void>((resolve) => target.write(piece.value, () => resolve())), gone]);
    }
  } catch (error) {
    giveUp();
    return error;
  }
  target.end();
  await finished(target).catch(() => undefined);
  return undefined;
}
