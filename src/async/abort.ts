// Turns an aborted signal into an error.
import { ImagoError } from '../domain/error/imago-error.ts';

/** Throws the signal's reason if it is an `ImagoError`, else `cancelled`. Does nothing if it is not aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  if (signal.reason instanceof ImagoError) throw signal.reason;
  throw new ImagoError('cancelled', 'the work was cancelled', { cause: signal.reason });
}
