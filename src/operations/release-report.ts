// The last step of a release: how long each step took, from lock to the last channel, read from the journal.
import type { Json } from '../domain/json.ts';
import type { StepRecord, WorkStep } from '../ports/operation.ts';
import { childId } from './child-step.ts';
import type { OperationDeps } from './deps.ts';
import type { ReleaseInput } from './release.ts';
import { resolved } from './resolve-step.ts';
import { requireResult } from './step-result.ts';

interface Timed {
  readonly step: string;
  readonly state: StepRecord['state'];
  readonly ms: number | null;
}

export function reportStep(deps: OperationDeps): WorkStep<ReleaseInput> {
  return {
    name: 'report',
    async do(context) {
      const { image, version, digest } = resolved(context);
      const { reused } = requireResult<{ readonly reused: boolean }>(context, 'build');
      const own = await deps.journal.get(context.operation.id);
      const steps: Timed[] = [];
      for (const step of own?.steps ?? []) {
        if (step.name === 'report') continue;
        const child = await deps.journal.get(childId(context.operation.id, step.name));
        if (child === undefined) steps.push(timed(step.name, step));
        else for (const inner of child.steps) steps.push(timed(`${step.name}/${inner.name}`, inner));
      }
      const moved = context.input.channels.filter(
        (channel) => requireResult<{ readonly moves: boolean }>(context, `gates-${channel}`).moves,
      );
      const since = own?.startedAt ?? own?.createdAt;
      return {
        ...{ image, version, digest },
        changed: !reused || moved.length > 0,
        channels: moved,
        totalMs: since === undefined ? null : Math.max(0, context.clock.now() - Date.parse(since)),
        times: steps.map((step) => ({ ...step })),
      } satisfies Json;
    },
  };
}

function timed(step: string, { state, startedAt, endedAt }: StepRecord): Timed {
  const took =
    startedAt === undefined || endedAt === undefined || state === 'skipped'
      ? null
      : Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
  return { step, state, ms: took };
}
