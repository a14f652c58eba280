// The first step of operations that are given a reference: which exact version, answered by which move.

import { requireUsable } from '../../domain/image/version-state.ts';
import { requireExact } from '../../domain/resolve/resolve.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';

const stepName = 'resolve';

/** Resolves a reference that must name a version, channel or digest, and refuses a withdrawn one. */
export async function resolveUsable(deps: OperationDeps, reference: string): Promise<Resolution> {
  requireExact(reference);
  const resolution = await deps.catalogue.resolve(reference);
  requireUsable(resolution);
  return resolution;
}

/** Looks again: what was resolved some steps ago may be out by now. Throws `version-withdrawn`. */
export async function requireStillUsable(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  { image, version }: Pick<Resolution, 'image' | 'version'>,
): Promise<void> {
  const now = await catalogue.getVersion(image, version);
  if (now !== undefined) requireUsable(now);
}

export function resolveStep<Input extends { readonly reference: string }>(
  deps: OperationDeps,
): WorkStep<Input> {
  return {
    name: stepName,
    async do(context) {
      return { ...(await resolveUsable(deps, context.input.reference)) } satisfies Json;
    },
  };
}

export function resolved(context: StepContext<unknown>): Resolution {
  return requireResult<Resolution>(context, stepName);
}
