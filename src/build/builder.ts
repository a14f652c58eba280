// The builder role of a provider: locks recipes, builds disks from locks, and seals them in the store. What the
// command line offers beyond the role (hotfixes, what is behind, what would rebuild) is here too.
import { lstat, mkdir, rm } from 'node:fs/promises';
import { sharedWork } from '../async/shared-work.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock, LockedInput } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import type { InventoryDiff } from '../inventory/diff/diff.ts';
import type {
  Builder,
  BuilderTools,
  BuildProgress,
  LockOptions,
  SealedDisk,
} from '../ports/provider/builder.ts';
import type { CallOptions } from '../ports/provider/call.ts';
import { type BuildImageOptions, buildImage, fetchContext } from './build-image.ts';
import { type BuildContext, type BuilderOptions, buildContext, lockContext } from './builder-context.ts';
import { defaultCacheLimits, type PruneReport, pruneCache, sweepTemporary } from './content/prune.ts';
import { withApt } from './debian/apt-workspace.ts';
import { compareArchive } from './debian/compare-archive.ts';
import { independentPackages } from './debian/needed-packages.ts';
import { fetchInputs, hasParts } from './fetch-inputs.ts';
import { hotfixLock, parseHotfixSet } from './lock/hotfix.ts';
import { checkLock, lockDigest, requireLock, writeLockFile } from './lock/lock-file.ts';
import { type LockRules, lockRecipe } from './lock/lock-recipe.ts';
import { findOutdated } from './lock/outdated.ts';
import { archiveWish } from './lock/signed-packages.ts';
import { type KnownLock, type LockCache, lockCache } from './lock-cache.ts';
import { previewHotfix, previewRecipeBuild } from './preview-build.ts';
import { absorb } from './recipe/absorb.ts';
import { createRedactor, type Redactor } from './redactor.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { findSealed, recordSealed, sealDisk } from './seal-disk.ts';
import { type StepReport, stepReport } from './step-report.ts';
import { whyRebuild } from './why-rebuild.ts';

export type { BuilderOptions } from './builder-context.ts';

/**
 * Recipes are those that `readRecipe` returns, one variant at a time, with their `folder`. A lock that fits is reused;
 * only what the recipe changed is resolved again.
 */
export interface ImageBuilder extends Builder {
  readonly remember: NonNullable<Builder['remember']>;
  readonly tools: BuilderTools;
  /** Builds the raw disk of a lock again and passes its path to `use`; it is deleted afterwards. */
  rebuild<T>(
    lock: Lock,
    progress: BuildProgress,
    options: CallOptions,
    use: (path: string) => Promise<T>,
  ): Promise<T>;
  /** Returns the path of an input if the cache has it intact. */
  findInput(sha256: string): Promise<string | undefined>;
  /** Does the same after fetching the input, or the part of an image, from the lock's source. Throws if that fails. */
  bringInput(lock: Lock, sha256: string, options: CallOptions): Promise<string | undefined>;
  /** Brings the cache within its limit, and removes what killed builds left. */
  prune(): Promise<PruneReport>;
}

export function createBuilder(options: BuilderOptions): ImageBuilder {
  const context = buildContext(options);
  const locks = lockCache(context.cacheFolder, context.now);
  const builds = sharedWork<SealedDisk>();

  async function resolve(
    recipe: Recipe,
    previous: KnownLock | undefined,
    progress: BuildProgress,
    { signal, exact, base }: Pick<LockOptions, 'base' | keyof CallOptions> & LockRules,
  ): Promise<Lock> {
    await mkdir(context.cacheFolder, { recursive: true });
    await sweepTemporary(context.cacheFolder);
    return redacting({ recipe, inputs: [] }, async (redactor) => {
      const locking = lockContext(context, recipe, redactor.progress(progress), signal, base);
      const lock = await lockRecipe(recipe, locking, previous?.lock, { exact });
      await locks.remember(lock, previous?.at ?? context.now());
      return lock;
    });
  }

  async function previousOf(recipe: Recipe, given: Lock | undefined): Promise<KnownLock | undefined> {
    return given === undefined ? locks.previous(recipe) : { lock: requireLock(given), at: 0 };
  }

  return {
    methods: ['assemble', 'machine'],
    async lock(recipe, progress, call) {
      const isUnknown = call.exact === true && call.previous === undefined;
      const previous = isUnknown ? undefined : await previousOf(recipe, call.previous);
      return resolve(recipe, previous, progress, call);
    },
    async build({ lock: given, lockDigest: digest }, progress, { signal, keepFailed }) {
      const lock = checkLock(given, digest);
      requireAssembly(lock);
      const sealed = await findSealed(context, digest);
      if (sealed !== undefined) return sealed;
      const request = { lock, lockDigest: digest, keepFailed: keepFailed === true };
      return builds.join(digest, signal, (shared) => buildAndSeal(context, locks, request, progress, shared));
    },
    find: (digest) => findSealed(context, digest),
    async remember({ lock: given, lockDigest: digest }, disk) {
      const lock = checkLock(given, digest);
      await recordSealed(context, digest, disk);
      await locks.rememberBuilt(lock);
    },
    prune: () =>
      pruneCache(context.cacheFolder, options.limits ?? defaultCacheLimits, context.now(), (path) =>
        removePath(path, context.sandbox),
      ),
    rebuild: async (lock, progress, { signal }, use) => {
      requireAssembly(lock);
      return reporting(context, lock, lockDigest(lock), progress, (report) =>
        buildImage(context, { lock, lockDigest: lockDigest(lock), signal, report }, ({ path }) => use(path)),
      );
    },
    findInput: async (sha256) => (await context.inputs.find(sha256))?.path,
    async bringInput(lock, sha256, { signal }) {
      const own = lock.inputs.filter((input) => input.sha256 === sha256);
      const wanted = own.length > 0 ? own : lock.inputs.filter(({ source }) => hasParts(source));
      await fetchInputs(wanted, { ...fetchContext(context, { lock, signal }), kept: undefined });
      return (await context.inputs.find(sha256))?.path;
    },
    tools: {
      relock: (recipe, progress, call) => resolve(recipe, undefined, progress, call),
      lockFile: async (recipe, all) => writeLockFile(recipe, all.map(requireLock)),
      async hotfix(given, sets, progress, { signal }) {
        const lock = requireLock(given);
        return redacting(lock, (redactor) => {
          const locking = lockContext(context, lock.recipe, redactor.progress(progress), signal);
          return hotfixLock(lock, sets.map(parseHotfixSet), locking);
        });
      },
      outdated: async (given, { signal }) => {
        const lock = requireLock(given);
        return findOutdated(lock, lockContext(context, lock.recipe, silent, signal));
      },
      compareArchive: async (of, packages, { signal }) => {
        await mkdir(context.cacheFolder, { recursive: true });
        const archive = await context.findArchive(archiveWish(of));
        return compareArchive(archive, packages, { ...context, signal });
      },
      absorb: (request, { signal }) =>
        absorb({
          ...request,
          diff: request.diff as unknown as InventoryDiff,
          independent: async (names) => {
            if (names.length === 0) return new Set();
            const archive = await context.findArchive(archiveWish(request.recipe));
            return withApt(archive, { ...context, signal }, (apt) => independentPackages(apt, names));
          },
        }),
      whyRebuild: async (given) => {
        const lock = requireLock(given);
        return whyRebuild(lock, await locks.lastBuilt(lock.recipe), context.layers);
      },
      readInput: (lock, input, call) => readInput(context, lock, input, call),
      preview: async (recipe, { previous, signal, base }) => {
        const before = (await previousOf(recipe, previous))?.lock;
        return redacting({ recipe, inputs: [] }, () =>
          previewRecipeBuild(context, recipe, before, signal, base),
        );
      },
      async previewHotfix(given, sets) {
        const lock = requireLock(given);
        const names = sets.map((set) => parseHotfixSet(set).name);
        return redacting(lock, () => previewHotfix(context, lock, names));
      },
    },
  };
}

async function* readInput(
  context: BuildContext,
  lock: Lock,
  input: LockedInput,
  { signal }: CallOptions,
): AsyncGenerator<Uint8Array> {
  await redacting(lock, () =>
    fetchInputs([input], { ...fetchContext(context, { lock, signal }), kept: undefined }),
  );
  const stored = await context.inputs.find(input.sha256);
  if (stored === undefined)
    throw new ImagoError('input-missing', 'An input of the lock is not in the cache.');
  yield* context.inputs.read(stored);
}

/** Hides private inputs in the errors of the work. */
async function redacting<T>(
  lock: Pick<Lock, 'recipe' | 'inputs'>,
  work: (redactor: Redactor) => Promise<T>,
): Promise<T> {
  const redactor = createRedactor(lock);
  try {
    return await work(redactor);
  } catch (error) {
    throw redactor.hideError(error);
  }
}

async function reporting<T>(
  context: BuildContext,
  lock: Lock,
  digest: string,
  progress: BuildProgress,
  work: (report: StepReport) => Promise<T>,
): Promise<T> {
  const report = await stepReport(context, lock, digest, progress);
  try {
    return await redacting(lock, () => work(report));
  } finally {
    await report.close();
  }
}

/** Only what the sandbox made needs the sandbox. */
async function removePath(path: string, sandbox: () => Sandbox): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory() === true) await sandbox().remove(path);
  else await rm(path, { force: true });
}

const silent: BuildProgress = { progress() {}, log() {} };

async function buildAndSeal(
  context: BuildContext,
  locks: LockCache,
  request: Pick<BuildImageOptions, 'lock' | 'lockDigest' | 'keepFailed'>,
  progress: BuildProgress,
  signal: AbortSignal,
): Promise<SealedDisk> {
  const { lock, lockDigest: digest } = request;
  await sweepTemporary(context.cacheFolder);
  return reporting(context, lock, digest, progress, async (report) => {
    const sealed = await buildImage(context, { ...request, signal, report }, (image) =>
      sealDisk(context, { lock, lockDigest: digest, image, signal, report }),
    );
    await locks.rememberBuilt(lock);
    return sealed;
  });
}

function requireAssembly({ recipe }: Lock): void {
  if (recipe.method !== 'machine') return;
  throw new ImagoError(
    'provider-lacks',
    `${recipe.name} is built on a machine: its disk cannot be assembled from the lock.`,
    { hint: 'Change its recipe, and build it with `imago build`.' },
  );
}
