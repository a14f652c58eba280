// Searches a page for the pattern of a recipe. The engine is RE2, which never backtracks, but a pattern of many
// repetitions still takes time for each character: it runs in a thread that is terminated at a deadline.
import { Worker } from 'node:worker_threads';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface MatchJob {
  readonly pattern: string;
  readonly page: string;
}

export type MatchAnswer = { readonly found: readonly string[] } | { readonly problem: string };

const defaultDeadlineMs = 30_000;
const memoryMb = 256;

/**
 * Returns the first group of each match. Throws `recipe-invalid` for a pattern that RE2 does not support, or that takes
 * too long or too much memory on the page.
 */
export async function matchPage(
  pattern: string,
  page: string,
  signal?: AbortSignal,
  deadlineMs = defaultDeadlineMs,
): Promise<readonly string[]> {
  signal?.throwIfAborted();
  const answer = await runJob({ pattern, page }, signal, deadlineMs);
  if ('problem' in answer) throw invalid(answer.problem);
  return answer.found;
}

async function runJob(
  job: MatchJob,
  signal: AbortSignal | undefined,
  deadlineMs: number,
): Promise<MatchAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<MatchAnswer>();
  const worker = new Worker(workerFile(), {
    workerData: job,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  worker.once('message', resolve);
  worker.once('error', (cause) => reject(invalid('The pattern could not be applied to the page.', cause)));
  worker.once('exit', () => reject(invalid('The pattern could not be applied to the page.')));
  const late = () => reject(invalid(`The pattern takes longer than ${deadlineMs / 1000} s on the page.`));
  const timer = setTimeout(late, deadlineMs);
  const leave = () => reject(signal?.reason);
  signal?.addEventListener('abort', leave, { once: true });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    await worker.terminate();
  }
}

/** Next to this file in the source tree, and next to the bundle. */
function workerFile(): URL {
  const name = import.meta.url.endsWith('.ts') ? './match-worker.ts' : './match-worker.js';
  return new URL(name, import.meta.url);
}

function invalid(message: string, cause?: unknown): ImagoError {
  return new ImagoError('recipe-invalid', message, { cause });
}
