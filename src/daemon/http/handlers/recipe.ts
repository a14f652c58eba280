// Recipes: checked, locked, built.
import { build } from '../../../domain/build/operations.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { localPaths } from '../../../domain/recipe/local-path.ts';
import { recipeAbsorb, recipeLock, recipeOutdated, recipeWhy } from '../../../domain/recipe/operations.ts';
import { requireExact } from '../../../domain/resolve/resolve.ts';
import type { SentFiles } from '../../../ports/image-store/sent-files.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { startOperation } from '../endpoint/start-operation.ts';

export const recipeHandlers = {
  async sendRecipeFiles({ context, upload, signal }) {
    const files = requireSentFiles(context);
    return {
      subject: 'recipe-files',
      plan: async () => ['Store the files in the build cache.'],
      run: () => files.receive(upload, signal),
    };
  },
  async placeRecipeFiles({ context, body }) {
    const files = requireSentFiles(context);
    return {
      subject: 'recipe-files',
      plan: async () => [
        'Create the directory of the recipe in the build cache, if all of its files are there.',
      ],
      run: () => files.place(body.list),
      record: () => ({ list: body.list }),
    };
  },
  async showRecipe({ body }) {
    const { loadRecipe } = await import('../endpoint/read-recipe.ts');
    const { showRecipe } = await import('../../../build/recipe/show-recipe.ts');
    const { recipe, variants, tree } = await loadRecipe(body);
    return {
      name: recipe.name,
      recipe,
      versions: variants.map(({ kubernetes }) => (kubernetes === undefined ? {} : { kubernetes })),
      text: showRecipe(tree),
    };
  },
  async createBuild(call) {
    const { provider, bump, keepFailed, locked } = call.body;
    const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
    const { recipe, variants, source } = await receiveRecipe(call.body, call.caller);
    const builds = variants.map((variant) => ({ ...variant, provider, bump, keepFailed, source, locked }));
    const [first = {}] = builds;
    return startOperation(call, build, recipe.matrix === undefined ? first : { image: recipe.name, builds });
  },
  async createHotfix(call) {
    const { from, set, folder, roots, provider, bump, keepFailed } = call.body;
    const { catalogue } = call.context;
    requireExact(from);
    const { image, version } = await catalogue.resolve(from);
    const record = await catalogue.getVersion(image, version);
    if (record?.origin.kind !== 'built') {
      throw new ImagoError('lock-not-kept', `${image}:${version} was not built, and has no lock.`);
    }
    const { lockDigest, source: base } = record.origin;
    const source = base && { ...base, dirty: true };
    await refuseLocal(call, lockDigest, set, folder ?? roots?.[0]);
    const hotfix = { from: `${image}:${version}`, lockDigest, set, folder, roots };
    return startOperation(call, build, { hotfix, provider, bump, keepFailed, source });
  },
  lockRecipe: (call) => ask(call, recipeLock, call.body.newest),
  async absorbVersion(call) {
    const { reference, skip, provider, recipe: text } = call.body;
    const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
    const { recipe } = await receiveRecipe(call.body, call.caller);
    return startOperation(call, recipeAbsorb, { reference, skip, provider, recipe, text });
  },
  findOutdated: (call) => ask(call, recipeOutdated),
  explainRebuild: (call) => ask(call, recipeWhy),
} satisfies Partial<Handlers>;

function requireSentFiles({ sentFiles }: DaemonContext): SentFiles {
  if (sentFiles !== undefined) return sentFiles;
  throw new ImagoError('daemon-standby', 'This daemon is on standby: it has no build cache.', {
    httpStatus: 503,
    retryable: true,
  });
}

async function ask(
  call: Call<'lockRecipe' | 'findOutdated' | 'explainRebuild'>,
  declaration: typeof recipeLock | typeof recipeOutdated | typeof recipeWhy,
  newest?: boolean,
) {
  const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
  const { recipe, variants } = await receiveRecipe(call.body, call.caller);
  return startOperation(call, declaration, { recipe, variants, provider: call.body.provider, newest });
}

/** A lock contains paths of this host; only a caller on this host is allowed to have them read again. */
async function refuseLocal(
  { context, caller }: Call<'createHotfix'>,
  lockDigest: string,
  set: readonly string[],
  folder: string | undefined,
): Promise<void> {
  if (caller.local && folder !== undefined) return;
  const { localRefused } = await import('../../../build/inputs/local-files.ts');
  if (folder !== undefined) throw localRefused(folder);
  const lock = (await context.images?.locks.read(lockDigest)) as
    | { readonly recipe: { readonly components: readonly { readonly name: string }[] } }
    | undefined;
  const names = new Set(set.map((text) => text.replace(/=.*$/s, '')));
  const changed = lock?.recipe.components.filter(({ name }) => names.has(name)) ?? [];
  const [local] = localPaths(changed);
  if (local !== undefined) throw localRefused(local.path);
}
