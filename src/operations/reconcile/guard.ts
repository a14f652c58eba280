// Collects what a check could not do, so that one failure does not keep the check from doing the rest.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { FoundProblem } from '../../domain/problem/problem.ts';
import type { OperationRecord } from '../../ports/workflow/operation.ts';

export interface Guard {
  readonly problems: FoundProblem[];
  /** Runs the work; what it throws becomes a problem that starts with `what`. Throws only if the signal is aborted. */
  guard(kind: string, subject: string, what: string, work: () => Promise<void>): Promise<void>;
}

export function createGuard(signal: AbortSignal): Guard {
  const problems: FoundProblem[] = [];
  return {
    problems,
    async guard(kind, subject, what, work) {
      try {
        await work();
      } catch (thrown) {
        signal.throwIfAborted();
        const { message, hint } = ensureImagoError(thrown);
        problems.push({ kind, subject, message: `${what}: ${message}`, ...(hint !== undefined && { hint }) });
      }
    },
  };
}

/** Throws if the newest of these attempts that ended has failed: an operation that is repeated reports it this way. */
export function throwIfFailed(...newestFirst: readonly (OperationRecord | undefined)[]): void {
  const ended = newestFirst.find((attempt) => attempt?.endedAt !== undefined);
  if (ended?.state !== 'failed') return;
  throw new ImagoError(
    'operation-failed',
    `Operation ${ended.id} failed: ${ended.error?.message ?? 'no reason'}`,
    {
      hint: `See \`imago op show ${ended.id}\`. Imago tries again every 10 minutes.`,
    },
  );
}
