// Runs jobs in the background, and records what they could not repair as problems.
import { every, type Rounds } from '../async/run-periodically.ts';
import { ensureImagoError } from '../domain/error/imago-error.ts';
import type { FoundProblem } from '../domain/problem/problem.ts';
import type { Problems } from '../ports/database/problems.ts';
import type { Log } from './process/log.ts';

export interface BackgroundOptions {
  readonly problems: Pick<Problems, 'report' | 'sync' | 'repaired'>;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly signal: AbortSignal;
}

export interface Background {
  /**
   * Runs the job soon, and again `ms` after it finished. It returns everything that it cannot repair now; problems that
   * it returned before and no longer does are resolved.
   */
  job(name: string, ms: number, work: () => Promise<readonly FoundProblem[] | undefined>): Rounds;
  /** Records a problem that no job checks. It is resolved by `repaired`, by a user, or when the daemon starts. */
  report(source: string, found: FoundProblem): void;
  repaired(source: string, subject: string): void;
}

export function createBackground({ problems, log, signal }: BackgroundOptions): Background {
  function inBackground(work: Promise<void>): void {
    work.catch((error) => {
      if (!signal.aborted) log.error('a problem could not be recorded', { error });
    });
  }

  async function round(
    name: string,
    work: () => Promise<readonly FoundProblem[] | undefined>,
  ): Promise<void> {
    let found: readonly FoundProblem[];
    try {
      found = (await work()) ?? [];
    } catch (error) {
      if (signal.aborted) return;
      log.error('a background job failed', { name, error });
      const message = `The background job ${name} failed: ${ensureImagoError(error).message}`;
      return problems.report(name, { kind: 'job-failed', subject: `job/${name}`, message });
    }
    await problems.sync(name, found);
  }

  return {
    job: (name, ms, work) =>
      every(
        ms,
        signal,
        () => round(name, work),
        (error) => log.error('a problem could not be recorded', { name, error }),
      ),
    report(source, found) {
      if (signal.aborted) return;
      log.warn(found.message, { kind: found.kind, subject: found.subject });
      inBackground(problems.report(source, found));
    },
    repaired: (source, subject) => inBackground(problems.repaired(source, subject)),
  };
}
