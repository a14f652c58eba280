// Handles output that can no longer be written. A reader such as `head` closes the pipe when it has enough: a command
// that has finished by then succeeded, and one that still works stops. Any other failure means that the result is lost.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface OutputWatch {
  /** Aborted with an `output-closed` error when a reader closes its end. */
  readonly signal: AbortSignal;
  /** Returns the error to report: `output-closed` if the failure follows from the closed output. */
  explain(thrown: unknown): unknown;
}

/** Calls `onLost` once, with the first write that failed for another reason: its report can fail too. */
export function watchOutput(
  streams: readonly NodeJS.WritableStream[],
  onLost: (error: ImagoError) => void,
): OutputWatch {
  const closed = new AbortController();
  let lost: ImagoError | undefined;
  for (const stream of streams) {
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EPIPE')
        closed.abort(new ImagoError('output-closed', 'The reader closed the output.'));
      else if (lost === undefined) {
        lost = new ImagoError('output-lost', `The output cannot be written: ${cause.message}.`, { cause });
        onLost(lost);
      }
    });
  }
  const { signal } = closed;
  return {
    signal,
    explain: (thrown) => {
      const follows =
        thrown === signal.reason || (thrown as NodeJS.ErrnoException | undefined)?.code === 'EPIPE';
      return signal.aborted && follows ? signal.reason : thrown;
    },
  };
}
