// Builds every version that a recipe stands for, one after the other: they share all layers but the last ones.
import * as z from 'zod';
import type { Json } from '../../domain/value/json.ts';
import type { ChildStep, OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Sealed } from '../image/candidate.ts';
import { buildOperation } from './build.ts';
import { type BuildInput, buildInput } from './input.ts';
import { foreseeBuild, planBuild } from './plan.ts';

const variant = z.looseObject({ recipe: z.looseObject({ name: z.string(), kubernetes: z.string() }) });
const matrixInput = z.object({ image: z.string(), builds: z.array(variant).min(1) });
export type BuildMatrixInput = z.infer<typeof matrixInput>;

export function buildMatrixOperation(deps: OperationDeps): OperationKind<BuildMatrixInput> {
  const build = buildOperation(deps);
  return {
    kind: 'build-matrix',
    parse(input) {
      const parsed = parseInput(matrixInput, input);
      for (const one of parsed.builds) build.parse(one as unknown as Json);
      return parsed;
    },
    plan: ({ builds }) => eachOf(builds, (one) => planBuild(deps, one)),
    foresee: ({ builds }) => eachOf(builds, (one) => foreseeBuild(deps, one)),
    steps: ({ image, builds }) => [
      ...builds.map((one) => variantStep(image, one)),
      matrixStep(deps, ({ builds: all }: BuildMatrixInput) => all.map(({ recipe }) => recipe.kubernetes)),
    ],
    result: (context) => ({
      image: context.input.image,
      versions: context.input.builds.map((one) => ({ ...requireResult<Sealed>(context, stepName(one)) })),
    }),
  };
}

async function eachOf(
  builds: BuildMatrixInput['builds'],
  linesOf: (build: BuildInput) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const plans: string[] = [];
  for (const one of builds) {
    const lines = await linesOf(parseInput(buildInput, one as unknown as Json));
    plans.push(...lines.map((line) => `Kubernetes ${one.recipe.kubernetes}: ${line}`));
  }
  return plans;
}

/** Records what the recipe lists, so that `prune` keeps a version of each. */
export function matrixStep<I extends { readonly image: string }>(
  deps: OperationDeps,
  versionsOf: (input: I) => readonly string[],
): WorkStep<I> {
  return {
    name: 'matrix',
    async do({ input }) {
      await deps.catalogue.setMatrix(input.image, versionsOf(input));
      return null;
    },
  };
}

function stepName({ recipe }: z.infer<typeof variant>): string {
  return `build-${recipe.kubernetes}`;
}

function variantStep(image: string, one: z.infer<typeof variant>): ChildStep<BuildMatrixInput> {
  return {
    name: stepName(one),
    child: () => ({ kind: 'build', subject: `image/${image}`, input: one as unknown as Json }),
  };
}
