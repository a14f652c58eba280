// Periodically handles what is due: scheduled withdrawals, support that ends, and galleries that
// fill up. Each is reported once, a gallery once each time that it fills up; trouble with one does not keep the others
// waiting.
import type { FoundProblem } from '../../domain/problem/problem.ts';
import type { OperationDeps } from '../common/deps.ts';
import { readLimits } from '../gallery/limits.ts';
import { createGuard, type Guard, throwIfFailed } from './guard.ts';
import { supportRound } from './support.ts';

export interface LifecycleReport {
  /** Operations that were started. */
  readonly started: readonly string[];
  /** What could not be done. */
  readonly problems: readonly FoundProblem[];
}

/** One that was refused is tried again once in this time. */
const againMs = 10 * 60_000;
/** The number of publications before a limit at which people are warned. */
const publicationsLeft = 10;

export async function lifecycleRound(deps: OperationDeps, signal: AbortSignal): Promise<LifecycleReport> {
  const started: string[] = [];
  const { problems, guard } = createGuard(signal);
  await guard(
    'withdrawals-overdue',
    'job/lifecycle',
    'Withdrawals that are due could not be read',
    async () => {
      started.push(...(await submitDue(deps, guard)));
    },
  );
  await guard(
    'support-not-checked',
    'job/lifecycle',
    'The dates of support could not be checked',
    async () => {
      started.push(...(await supportRound(deps)));
    },
  );
  await guard('limits-not-checked', 'job/lifecycle', 'The limits of galleries could not be checked', () =>
    sampleLimits(deps, signal),
  );
  return { started, problems };
}

/** The id keeps two rounds from starting the same twice. */
async function submitDue(deps: OperationDeps, guard: Guard['guard']): Promise<readonly string[]> {
  const started: string[] = [];
  const slot = Math.floor(deps.clock.now() / againMs);
  for (const {
    id,
    image,
    version,
    reason,
    withDescendants,
    by,
    operation,
  } of await deps.lifecycle.withdrawals.due()) {
    const what = `${image}:${version} could not be withdrawn, although it is due`;
    await guard('withdrawal-overdue', `version/${image}:${version}`, what, async () => {
      const name = `withdraw-${id}-${slot}`;
      const current = await deps.journal.get(name);
      if (current === undefined) {
        const asked = await deps.journal.get(operation);
        const replace = (asked?.input as { readonly replace?: boolean } | undefined)?.replace === true;
        const input = { image, version, reason, descendants: withDescendants, replace, withdrawal: id };
        await deps.desk().submit({ id: name, kind: 'withdraw', subject: `image/${image}`, by, input });
        started.push(name);
      }
      throwIfFailed(current, await deps.journal.get(`withdraw-${id}-${slot - 1}`));
    });
  }
  return started;
}

async function sampleLimits(deps: OperationDeps, signal: AbortSignal): Promise<void> {
  const day = new Date(deps.clock.now()).toISOString().slice(0, 10);
  for (const { place, name, used, limit, reachedOn } of await readLimits(deps, signal)) {
    await deps.lifecycle.samples.record(place, name, day, used, limit);
    if (name === 'bytes') continue;
    const subject = `limit/${place}/${name}`;
    if (limit - used > publicationsLeft) {
      await deps.lifecycle.support.forgetTold('limit.near', subject);
      continue;
    }
    const data = { place, used, limit, ...(reachedOn === undefined ? {} : { reachedOn }) };
    await deps.lifecycle.support.tellOnce(
      { kind: 'limit.near', subject, mark: `${limit - used} of ${limit} left` },
      data,
    );
  }
}
