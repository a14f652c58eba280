// The end of support that a recipe promises, kept as the date of the version that was built from it. A date that
// someone set for the version since then stays.

import type { Lock } from '../../domain/lock/lock.ts';
import { imageProduct } from '../../domain/support/support.ts';
import type { Json } from '../../domain/value/json.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Sealed } from '../image/candidate.ts';
import type { BuildInput } from './input.ts';

const note = 'from the recipe';

/** After the version was sealed. */
export function supportStep(deps: OperationDeps): WorkStep<BuildInput> {
  const { support } = deps.lifecycle;
  return {
    name: 'support',
    async do(context) {
      const endsOn = promisedBy(context);
      const line = lineOf(context);
      if (endsOn === undefined || (await isDated(deps, line))) return { set: false };
      await support.set({ product: imageProduct, line, endsOn, note, by: context.operation.by });
      return { set: true };
    },
    async undo(context) {
      const { reused } = requireResult<Sealed>(context, 'seal');
      if (!reused) await support.unset(imageProduct, lineOf(context), context.operation.by);
      return undefined;
    },
  };
}

async function isDated({ lifecycle }: OperationDeps, line: string): Promise<boolean> {
  const dates = await lifecycle.support.list();
  return dates.some((date) => date.product === imageProduct && date.line === line);
}

function promisedBy(context: StepContext<BuildInput>): string | undefined {
  const { lock } = requireResult<{ readonly lock: Json }>(context, 'lock');
  return (lock as Lock).recipe.support?.until;
}

function lineOf(context: StepContext<BuildInput>): string {
  const { image, version } = requireResult<Sealed>(context, 'seal');
  return `${image}:${version}`;
}
