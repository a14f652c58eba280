// Time limits on work that a caller waits for. Their timers do not keep the process alive.
import { ImagoError } from '../domain/error/imago-error.ts';

/** Aborted with `provider-timeout` when the time is over. Keeps no process alive. */
export function answerDeadline(ms: number, who: string): AbortSignal {
  const deadline = new AbortController();
  const late = () =>
    deadline.abort(new ImagoError('provider-timeout', `${who} did not answer in ${ms / 1000} s.`));
  setTimeout(late, ms).unref();
  return deadline.signal;
}

/** `true` when the work settled in time, whether or not it succeeded. */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
}
