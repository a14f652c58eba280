// The last step of a release: how long each step took, from lock to the last channel, read from the journal.
import type { Json } from '../../domain/value/json.ts';
import type { StepContext, StepRecord, WorkStep } from '../../ports/workflow/operation.ts';
import { childId } from '../../workflow/interpreter/child-step.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import { resolved } from '../image/resolve-step.ts';
import { movedChannels } from './channels.ts';
import type { ReleaseInput } from './input.ts';

export type Timed = {
  readonly step: string;
  readonly state: StepRecord['state'];
  readonly ms: number | null;
};

export const reportName = 'report';

export function reportStep(deps: OperationDeps): WorkStep<ReleaseInput> {
  return {
    name: reportName,
    async do(context) {
      const { image, version, digest } = resolved(context);
      const { reused } = requireResult<{ readonly reused: boolean }>(context, 'build');
      const moved = movedChannels(context, context.input.channels);
      return {
        ...{ image, version, digest },
        changed: !reused || moved.length > 0,
        channels: moved,
        ...(await readTimes(deps, context)),
      } satisfies Json;
    },
  };
}

/** Of every step of the operation and of those inside it, but for the one that asks. */
export async function readTimes(
  deps: OperationDeps,
  { operation, clock }: StepContext<unknown>,
): Promise<{ readonly totalMs: number | null; readonly times: readonly Timed[] }> {
  const own = await deps.journal.get(operation.id);
  const since = own?.startedAt ?? own?.createdAt;
  return {
    totalMs: since === undefined ? null : Math.max(0, clock.now() - Date.parse(since)),
    times: await timesOf(deps, operation.id, ''),
  };
}

async function timesOf(deps: OperationDeps, id: string, prefix: string): Promise<readonly Timed[]> {
  const record = await deps.journal.get(id);
  const times: Timed[] = [];
  for (const step of record?.steps ?? []) {
    if (step.name === reportName) continue;
    const inner = await timesOf(deps, childId(id, step.name), `${prefix}${step.name}/`);
    times.push(...(inner.length > 0 ? inner : [timed(`${prefix}${step.name}`, step)]));
  }
  return times;
}

function timed(step: string, { state, startedAt, endedAt }: StepRecord): Timed {
  const took =
    startedAt === undefined || endedAt === undefined || state === 'skipped'
      ? null
      : Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
  return { step, state, ms: took };
}
