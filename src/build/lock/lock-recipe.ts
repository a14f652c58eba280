// Resolves a recipe to a lock: every input with its exact version, sha256, size and source.
import { type Lock, type LockedInput, makeLock } from '../../domain/lock.ts';
import type { Recipe } from '../../domain/recipe.ts';
import { checkRecipe } from '../../domain/recipe-problems.ts';
import { expandOne } from '../../domain/recipe-variables.ts';
import { orderPatches } from '../../domain/recipe-windows.ts';
import { mapLimit } from '../../images/store/registry/map-limit.ts';
import { buildEpoch, buildRules } from '../build-rules.ts';
import type { LockContext } from './lock-context.ts';
import { resolveComponent } from './resolve-component.ts';
import { resolveImage } from './resolve-images.ts';
import { resolvePackages } from './resolve-packages.ts';
import { resolvePatch } from './resolve-patch.ts';
import { resolveTexts } from './resolve-texts.ts';

/** The name of Imago's own program among the inputs. */
export const agentName = 'imago-agent';

/** For one Kubernetes version. Reads from outside, writes nothing but caches. */
export async function lockRecipe(recipe: Recipe, context: LockContext): Promise<Lock> {
  const whole = expandOne(recipe);
  checkRecipe(whole);
  const parts = workParts(whole, context);
  let done = 0;
  const found = await mapLimit(parts, 4, async ({ what, run }) => {
    context.progress(done, parts.length, what);
    const inputs = await run();
    done += 1;
    context.progress(done, parts.length, what);
    return inputs;
  });
  return makeLock(recipe, found.flat(), { rules: buildRules, epoch: buildEpoch });
}

interface Part {
  readonly what: string;
  readonly run: () => Promise<readonly LockedInput[]>;
}

function workParts(recipe: Recipe, context: LockContext): readonly Part[] {
  const assembles = recipe.method !== 'machine';
  const named = (item: { readonly name: string; readonly private?: true }) =>
    item.private === true ? 'a private input' : item.name;
  return [
    ...(assembles ? [{ what: 'resolving packages', run: () => resolvePackages(recipe, context) }] : []),
    ...recipe.components.map((component) => ({
      what: `resolving ${named(component)}`,
      run: () => resolveComponent(component, context),
    })),
    ...(recipe.images ?? []).map((image) => ({
      what: `resolving ${named(image)}`,
      run: async () => [await resolveImage(image, recipe, context)],
    })),
    ...orderPatches(recipe.windows?.patches ?? []).map((patch) => ({
      what: `resolving ${patch.private === true ? 'a private patch' : patch.kb}`,
      run: async () => [await resolvePatch(patch, context)],
    })),
    { what: 'reading the files of the recipe', run: () => resolveTexts(recipe, context) },
    ...(assembles && context.agent !== undefined ? [agentPart(context)] : []),
  ];
}

function agentPart(context: LockContext): Part {
  return {
    what: 'taking in the agent',
    async run() {
      if (context.agent === undefined) return [];
      const { version, archive } = context.agent;
      const { sha256, sizeBytes } = await context.inputs.addBytes(archive);
      return [{ kind: 'files', name: agentName, version, sha256, sizeBytes, source: 'imago:agent' }];
    },
  };
}
