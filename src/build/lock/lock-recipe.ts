// Resolves a recipe to a lock: every input with its exact version, sha256, size and source. Given the lock from
// before, only what the recipe says differently is resolved anew, so that a changed setting does not bring a new
// libc along; what lies beside the recipe is always looked at.
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Json } from '../../domain/json.ts';
import { componentInputs, type Lock, type LockedInput, makeLock } from '../../domain/lock.ts';
import type { Recipe } from '../../domain/recipe.ts';
import { checkRecipe } from '../../domain/recipe-problems.ts';
import { expandOne } from '../../domain/recipe-variables.ts';
import { orderPatches } from '../../domain/recipe-windows.ts';
import { mapLimit } from '../../images/store/registry/map-limit.ts';
import { buildEpoch, buildRules } from '../build-rules.ts';
import type { LockContext } from './lock-context.ts';
import { resolveComponent } from './resolve-component.ts';
import { resolveImage } from './resolve-images.ts';
import { archiveWish, resolvePackages, wantedPackages } from './resolve-packages.ts';
import { resolvePatch } from './resolve-patch.ts';
import { resolveTexts } from './resolve-texts.ts';

/** The name of Imago's own program among the inputs. */
export const agentName = 'imago-agent';

/** For one Kubernetes version. Reads from outside, writes nothing but caches. */
export async function lockRecipe(recipe: Recipe, context: LockContext, previous?: Lock): Promise<Lock> {
  const whole = expandOne(recipe);
  checkRecipe(whole);
  const before = previous?.rules === buildRules ? expandLock(previous) : undefined;
  const parts = workParts(whole, context, before);
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

/** The lock from before, with its recipe's variables written out. */
interface Before {
  readonly recipe: Recipe;
  readonly inputs: readonly LockedInput[];
}

function expandLock({ recipe, inputs }: Lock): Before {
  return { recipe: expandOne(recipe), inputs };
}

interface Part {
  readonly what: string;
  readonly run: () => Promise<readonly LockedInput[]>;
}

function workParts(recipe: Recipe, context: LockContext, before: Before | undefined): readonly Part[] {
  const assembles = recipe.method !== 'machine';
  const named = (item: { readonly name: string; readonly private?: true }) =>
    item.private === true ? 'a private input' : item.name;
  return [
    ...(assembles ? [packagePart(recipe, context, before)] : []),
    ...recipe.components.map((component) => ({
      what: `resolving ${named(component)}`,
      run: async () => keptComponent(component, before) ?? resolveComponent(component, context),
    })),
    ...(recipe.images ?? []).map((image) => ({
      what: `resolving ${named(image)}`,
      run: async () => keptImage(image, before) ?? [await resolveImage(image, recipe, context)],
    })),
    ...orderPatches(recipe.windows?.patches ?? []).map((patch) => ({
      what: `resolving ${patch.private === true ? 'a private patch' : patch.kb}`,
      run: async () => [await resolvePatch(patch, context)],
    })),
    { what: 'reading the files of the recipe', run: () => resolveTexts(recipe, context) },
    ...(assembles && context.agent !== undefined ? [agentPart(context)] : []),
  ];
}

function packagePart(recipe: Recipe, context: LockContext, before: Before | undefined): Part {
  return {
    what: 'resolving packages',
    async run() {
      if (before === undefined || !same(packageWish(recipe), packageWish(before.recipe))) {
        return resolvePackages(recipe, context);
      }
      return before.inputs.filter(({ kind }) => kind === 'package');
    },
  };
}

function packageWish(recipe: Recipe): unknown {
  const { suite, machine } = archiveWish(recipe);
  return { suite, machine, base: recipe.base?.packages ?? [], wanted: wantedPackages(recipe) };
}

/** What came from an address and is asked for in the same words stays what it was. */
function keptComponent(
  component: Recipe['components'][number],
  before: Before | undefined,
): readonly LockedInput[] | undefined {
  const known = before?.recipe.components.find(({ name }) => name === component.name);
  if (before === undefined || known === undefined) return undefined;
  const wish = (one: typeof component) => [one.version, one.versions, one.from, one.private];
  if (!same(wish(known), wish(component))) return undefined;
  const inputs = componentInputs(component, before.inputs).flatMap(({ input }) => input ?? []);
  const remote = inputs.filter(({ kind, source }) => kind !== 'package' && isRemote(source));
  return remote.length === inputs.length && inputs.length > 0 ? inputs : undefined;
}

function keptImage(
  image: NonNullable<Recipe['images']>[number],
  before: Before | undefined,
): readonly LockedInput[] | undefined {
  const known = before?.recipe.images?.find(({ name }) => name === image.name);
  if (before === undefined || known === undefined || !same(known, image)) return undefined;
  const inputs = before.inputs.filter(({ kind, name }) => kind === 'container-image' && name === image.name);
  return inputs.length === 1 && inputs.every(({ source }) => isRemote(source)) ? inputs : undefined;
}

function isRemote(source: string): boolean {
  return /^(?:https?|oci):|^archive:https?:/.test(source);
}

function same(a: unknown, b: unknown): boolean {
  const text = (value: unknown) => canonicalJson(JSON.parse(JSON.stringify(value ?? null)) as Json);
  return text(a) === text(b);
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
