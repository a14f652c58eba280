// Recipes: looked at, locked, built.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { localPaths } from '../../../domain/recipe/local-path.ts';
import { requireExact } from '../../../domain/resolve/resolve.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import { startOperation } from '../endpoint/start-operation.ts';

export const recipeHandlers = {
  async showRecipe({ body }) {
    const { loadRecipe } = await import('../endpoint/read-recipe.ts');
    const { showRecipe } = await import('../../../build/recipe/show-recipe.ts');
    const { recipe, variants, tree } = await loadRecipe(body);
    return {
      name: recipe.name,
      recipe: recipe,
      versions: variants.map(({ kubernetes }) => (kubernetes === undefined ? {} : { kubernetes })),
      text: showRecipe(tree),
    };
  },
  async createBuild(call) {
    const { provider, bump, keepFailed, source, locked } = call.body;
    const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
    const { recipe, variants } = await receiveRecipe(call.body, call.caller);
    const builds = variants.map((variant) => ({
      ...(variant as unknown as Sent),
      provider,
      bump,
      keepFailed,
      source,
      locked,
    }));
    const [first] = builds;
    const subject = `image/${recipe.name}`;
    if (first !== undefined && recipe.matrix === undefined)
      return startOperation(call, { kind: 'build', subject, input: first });
    return startOperation(call, { kind: 'build-matrix', subject, input: { image: recipe.name, builds } });
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
    return startOperation(call, {
      kind: 'build',
      subject: `image/${image}`,
      input: { hotfix, provider, bump, keepFailed, source },
    });
  },
  lockRecipe: async (call) => ask(call, 'recipe-lock', call.body.newest),
  findOutdated: async (call) => ask(call, 'recipe-outdated'),
  explainRebuild: async (call) => ask(call, 'recipe-why'),
} satisfies Partial<Handlers>;

type Sent = Readonly<Record<string, Json | undefined>>;

async function ask(
  call: Call<'lockRecipe' | 'findOutdated' | 'explainRebuild'>,
  kind: string,
  newest?: boolean,
) {
  const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
  const { recipe, variants } = await receiveRecipe(call.body, call.caller);
  const { provider } = call.body;
  return startOperation(call, {
    kind,
    subject: `recipe/${recipe.name}`,
    input: {
      recipe: recipe,
      variants: variants,
      provider,
      newest,
    },
  });
}

/** A lock remembers paths of this machine; only a caller of this machine may have them read again. */
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
