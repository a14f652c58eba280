// What can be asked of a recipe before it is built: its lock, what is behind, what would be built anew. They are
// operations because they may fetch for minutes; what they write are caches alone.

import * as z from 'zod';
import type { Lock } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Builder, LayerPreview, Outdated } from '../../ports/provider/builder.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireTools } from '../build/plan.ts';
import { callOptions, type OperationDeps, requireRole } from '../common/deps.ts';

const recipe = z.looseObject({ name: z.string(), kubernetes: z.string().optional() });

const questionInput = z.object({
  /** As it is written. */
  recipe,
  /** One for each version that it stands for, each with the lock that is committed, if there is one. */
  variants: z.array(z.object({ recipe, lock: z.unknown().optional() })).min(1),
  /** Take the newest of everything, whatever was locked before. */
  newest: z.boolean().optional(),
  provider: z.string().optional(),
});
export type QuestionInput = z.infer<typeof questionInput>;
type Variant = QuestionInput['variants'][number];
type Tools = NonNullable<Builder['tools']>;

interface Asked {
  readonly builder: Builder;
  readonly tools: Tools;
  lock(variant: Variant): Promise<Lock>;
}

type Answer = (asked: Asked, context: StepContext<QuestionInput>) => Promise<Json>;

export function recipeLockOperation(deps: OperationDeps): OperationKind<QuestionInput> {
  const words = { kind: 'recipe-lock', step: 'resolve', plan: 'Resolve every input to an exact version.' };
  return question(deps, words, async (asked, context) => {
    const { input } = context;
    const locks: Lock[] = [];
    for (const variant of input.variants) locks.push(await asked.lock(variant));
    return {
      text: await asked.tools.lockFile(input.recipe as Recipe, locks),
      locks: locks.map((lock, index) => ({
        kubernetes: input.variants[index]?.recipe.kubernetes,
        digest: `sha256:${deps.sha256(canonicalJson(lock))}`,
        inputs: lock.inputs.length,
      })),
    };
  });
}

export function recipeOutdatedOperation(deps: OperationDeps): OperationKind<QuestionInput> {
  const plan = 'Look for newer versions of every input.';
  return question(deps, { kind: 'recipe-outdated', step: 'find-newer', plan }, async (asked, context) => {
    const reports: Outdated[] = [];
    for (const variant of context.input.variants) {
      const lock = await asked.lock(variant);
      reports.push(await asked.tools.outdated(lock, callOptions(deps, context.signal)));
    }
    return {
      behind: unique(reports.flatMap(({ behind }) => behind)) as unknown as Json,
      unknown: unique(reports.flatMap(({ unknown }) => unknown)) as unknown as Json,
      unruled: unique(reports.flatMap(({ unruled }) => unruled)) as unknown as Json,
    };
  });
}

export function recipeWhyOperation(deps: OperationDeps): OperationKind<QuestionInput> {
  const plan = 'Compare with the last build of the image.';
  return question(deps, { kind: 'recipe-why', step: 'compare-layers', plan }, async (asked, context) => {
    const versions: { readonly kubernetes: string | undefined; readonly layers: readonly LayerPreview[] }[] =
      [];
    for (const variant of context.input.variants) {
      const layers = await asked.tools.whyRebuild(await asked.lock(variant));
      versions.push({ kubernetes: variant.recipe.kubernetes, layers });
    }
    return { versions: versions as unknown as Json };
  });
}

interface QuestionWords {
  readonly kind: string;
  /** The name of its one step. */
  readonly step: string;
  readonly plan: string;
}

function question(deps: OperationDeps, words: QuestionWords, answer: Answer): OperationKind<QuestionInput> {
  function toolsOf({ provider }: QuestionInput) {
    const found = deps.provider(provider);
    const builder = requireRole(found, 'builder');
    return { builder, tools: requireTools(builder, found.name) };
  }
  const step: WorkStep<QuestionInput> = {
    name: words.step,
    do(context) {
      const { builder, tools } = toolsOf(context.input);
      const options = callOptions(deps, context.signal);
      const lock = (variant: Variant) => {
        const one = variant.recipe as Recipe;
        if (context.input.newest === true) return tools.relock(one, context, options);
        return builder.lock(one, context, { ...options, previous: variant.lock as Lock | undefined });
      };
      return answer({ builder, tools, lock }, context);
    },
  };
  return {
    kind: words.kind,
    parse: (input) => parseInput(questionInput, input),
    async plan(input) {
      toolsOf(input);
      return [`${words.plan} Nothing is built.`];
    },
    steps: () => [step],
    renamed: { look: words.step },
  };
}

function unique<T>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
