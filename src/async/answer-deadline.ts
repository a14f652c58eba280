// For reads of a provider that someone waits for: an answer in time, or an error that says who was too slow.
import { ImagoError } from '../domain/error/imago-error.ts';

/** Aborted with `provider-timeout` when the time is over. Keeps no process alive. */
export function answerDeadline(ms: number, who: string): AbortSignal {
  const deadline = new AbortController();
  const late = () =>
    deadline.abort(new ImagoError('provider-timeout', `${who} did not answer in ${ms / 1000} s.`));
  setTimeout(late, ms).unref();
  return deadline.signal;
}
