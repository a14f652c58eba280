// The first step of operations that are given a reference: which exact version, answered by which move.
import type { Json } from '../domain/json.ts';
import { requireExact } from '../domain/resolve.ts';
import { requireUsable } from '../domain/version-state.ts';
import type { Resolution } from '../ports/catalogue.ts';
import type { StepContext, WorkStep } from '../ports/operation.ts';
import type { OperationDeps } from './deps.ts';
import { requireResult } from './step-result.ts';

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
