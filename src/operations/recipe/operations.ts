// Answers questions about a recipe before it is built: its lock, what is outdated, what would be rebuilt.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { OperationDeclaration } from '../../domain/operation/declaration.ts';
import type { QuestionInput } from '../../domain/recipe/operations.ts';
import * as declared from '../../domain/recipe/operations.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Absorbed, BuilderTools, LayerPreview, Outdated } from '../../ports/provider/builder.ts';
import { lockWith } from '../build/base.ts';
import { withSnapshots } from '../build/machine.ts';
import { requireTools } from '../build/plan.ts';
import { requireRole } from '../common/deps.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireStored, requireVersion } from '../common/require.ts';
import { ancestorsOf } from '../image/ancestors.ts';
import { resolveStep, resolveUsable } from '../image/resolve-step.ts';

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

/** Compares the captured version with the one that was built, across all captures between them. */
export const recipeAbsorb = operation(declared.recipeAbsorb, {
  async plan(run) {
    openTools(run);
    const { version, built } = await findCaptured(run, run.input.reference);
    return [
      `Add to the recipe what ${version.image}:${version.version} has in addition to ${built.image}:${built.version}. Nothing is built.`,
    ];
  },
})
  .use(resolveStep)
  .step('absorb', {
    timeoutMs: 3_600_000,
    async do(run): Promise<Absorbed> {
      const { tools } = openTools(run);
      const { version, built } = await findCaptured(run, run.input.reference);
      const { records } = await requireStored(run, version);
      await requireStored(run, built);
      const { recipe, text, skip } = run.input;
      const { diff } = await records.diff(built.digest, version.digest, run.signal);
      const texts = (paths: readonly string[]) => records.texts(version.digest, paths);
      return tools.absorb({ recipe: recipe as Recipe, text, skip, diff, texts }, run.call);
    },
  });

async function findCaptured(run: Reading, reference: string) {
  const { image, version: number } = await resolveUsable(run, reference);
  const version = await requireVersion(run, image, number);
  const built = (await ancestorsOf(run, version)).at(-1);
  if (built !== undefined) return { version, built };
  throw new ImagoError('input-invalid', `${image}:${number} was not captured from a node.`, {
    hint: 'See what differs between any two versions with `imago image diff`.',
  });
}

function openTools(run: Reading<{ readonly provider?: string | undefined }>) {
  const provider = run.provider(run.input.provider);
  const builder = requireRole(provider, 'builder');
  return { builder, tools: requireTools(builder, provider.name) };
}

function question<Kind extends string, Answer>(
  declaration: OperationDeclaration<Kind, typeof declared.recipeLock.input>,
  { step, plan }: { readonly step: string; readonly plan: string },
  answer: (run: Run<QuestionInput>, asked: Asked) => Promise<Answer>,
) {
  return operation(declaration, {
    plan(run) {
      openTools(run);
      return [`${plan} Nothing is built.`];
    },
    renamed: { look: step },
  }).step(step, (run) => {
    const { builder, tools } = openTools(run);
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
