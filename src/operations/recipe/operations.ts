// Answers questions about a recipe before it is built: its lock, what is outdated, what would be rebuilt.

import type { Lock } from '../../domain/lock/lock.ts';
import type { OperationDeclaration } from '../../domain/operation/declaration.ts';
import type { QuestionInput } from '../../domain/recipe/operations.ts';
import * as declared from '../../domain/recipe/operations.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { BuilderTools, LayerPreview, Outdated } from '../../ports/provider/builder.ts';
import { lockWith } from '../build/base.ts';
import { withSnapshots } from '../build/machine.ts';
import { requireTools } from '../build/plan.ts';
import { requireRole } from '../common/deps.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';

type Variant = QuestionInput['variants'][number];

interface Asked {
  readonly tools: BuilderTools;
  lock(variant: Variant): Promise<Lock>;
}

export const recipeLock = question(
  declared.recipeLock,
  { step: 'resolve', plan: 'Resolve every input to an exact version.' },
  async (run, { tools, lock }) => {
    const { recipe, variants } = run.input;
    const locks: Lock[] = [];
    for (const variant of variants) locks.push(await lock(variant));
    return {
      text: await tools.lockFile(recipe as Recipe, locks),
      locks: locks.map((one, index) => ({
        kubernetes: variants[index]?.recipe.kubernetes,
        digest: `sha256:${run.sha256(canonicalJson(one))}`,
        inputs: one.inputs.length,
      })),
    };
  },
);

export const recipeOutdated = question(
  declared.recipeOutdated,
  { step: 'find-newer', plan: 'Look for newer versions of every input.' },
  async (run, { tools, lock }) => {
    const reports: Outdated[] = [];
    for (const variant of run.input.variants)
      reports.push(await tools.outdated(await lock(variant), run.call));
    return {
      behind: unique(reports.flatMap(({ behind }) => behind)),
      unknown: unique(reports.flatMap(({ unknown }) => unknown)),
      unruled: unique(reports.flatMap(({ unruled }) => unruled)),
    };
  },
);

export const recipeWhy = question(
  declared.recipeWhy,
  { step: 'compare-layers', plan: 'Compare with the last build of the image.' },
  async (run, { tools, lock }) => {
    const versions: { kubernetes: string | undefined; layers: readonly LayerPreview[] }[] = [];
    for (const variant of run.input.variants) {
      const found = await tools.whyRebuild(await lock(variant));
      const layers = await withSnapshots(run.provider(run.input.provider), found, run.call);
      versions.push({ kubernetes: variant.recipe.kubernetes, layers });
    }
    return { versions };
  },
);

function question<Kind extends string, Answer>(
  declaration: OperationDeclaration<Kind, typeof declared.recipeLock.input>,
  { step, plan }: { readonly step: string; readonly plan: string },
  answer: (run: Run<QuestionInput>, asked: Asked) => Promise<Answer>,
) {
  function open(run: Reading<QuestionInput>) {
    const provider = run.provider(run.input.provider);
    const builder = requireRole(provider, 'builder');
    return { builder, tools: requireTools(builder, provider.name) };
  }
  return operation(declaration, {
    plan(run) {
      open(run);
      return [`${plan} Nothing is built.`];
    },
    renamed: { look: step },
  }).step(step, (run) => {
    const { builder, tools } = open(run);
    return answer(run, {
      tools,
      lock({ recipe, lock: previous }) {
        const { newest } = run.input;
        return lockWith(run, builder, {
          ...{ recipe: recipe as Recipe, previous: previous as Lock | undefined, newest },
        });
      },
    });
  });
}

function unique<T>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
