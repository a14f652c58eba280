// The builder role of a provider: locks recipes, builds disks from locks, and seals them in the store. What the
// command line offers beyond the role (hotfixes, what is behind, what would rebuild) is here too.
import { lstat, mkdir, rm } from 'node:fs/promises';
import { sharedWork } from '../async/shared-work.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import type { Json } from '../domain/value/json.ts';
import type { Builder, BuilderTools, BuildProgress, SealedDisk } from '../ports/provider/builder.ts';
import type { CallOptions } from '../ports/provider/call.ts';
import { type BuildImageOptions, buildImage, fetchContext } from './build-image.ts';
import { type BuilderOptions, buildContext, lockContext } from './builder-context.ts';
import type { BuildContext } from './context.ts';
import { fetchInputs, hasParts } from './fetch-inputs.ts';
import { checkLock, parseLock } from './lock/check-lock.ts';
import { hotfixLock, parseHotfixSet } from './lock/hotfix.ts';
import { lockDigest, writeLockFile } from './lock/lock-file.ts';
import { type LockRules, lockRecipe } from './lock/lock-recipe.ts';
import { findOutdated, type OutdatedReport } from './lock/outdated.ts';
import { type KnownLock, type LockCache, lockCache } from './lock-cache.ts';
import { forecastHotfix, previewRecipeBuild } from './preview-build.ts';
import { defaultCacheLimits, type PruneReport, pruneCache, sweepTemporary } from './prune-cache.ts';
import { createRedactor } from './redactor.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { findSealed, sealDisk } from './seal-disk.ts';
import { stepReport } from './step-report.ts';
import { type LayerVerdict, whyRebuild } from './why-rebuild.ts';

export type { BuilderOptions } from './builder-context.ts';

/**
 * Recipes are those that `readRecipe` gives, one variant at a time, with `folder` where they lie.
 * A lock that fits is taken over; only what the recipe says differently is resolved anew.
 */
export interface ImageBuilder extends Builder {
  /** The lock with the newest of everything, whatever was locked before. */
  relock(recipe: Recipe, progress: BuildProgress, options: CallOptions): Promise<Lock>;
  /** `sets` as `COMPONENT=VERSION`. The lock of a shipped version with these inputs changed and no other. */
  hotfix(lock: Lock, sets: readonly string[], progress: BuildProgress, options: CallOptions): Promise<Lock>;
  outdated(lock: Lock, options: CallOptions): Promise<OutdatedReport>;
  /** What a build of the lock would make anew, against the image's last build. Writes nothing. */
  whyRebuild(lock: Lock): Promise<readonly LayerVerdict[]>;
  /** The same for callers that hold recipes and locks as plain data. */
  readonly tools: BuilderTools;
  /** Builds the raw disk of a lock once more and hands its path to `use`; it is gone afterwards. */
  rebuild<T>(
    lock: Lock,
    progress: BuildProgress,
    options: CallOptions,
    use: (path: string) => Promise<T>,
  ): Promise<T>;
  /** Where an input lies, if the cache has it and it is whole. */
  findInput(sha256: string): Promise<string | undefined>;
  /** The same after asking where the lock says; also for a part of an image. Throws what fetching throws. */
  bringInput(lock: Lock, sha256: string, options: CallOptions): Promise<string | undefined>;
  /** Brings the cache within its limit, and takes away what killed builds left. */
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
    { signal, exact }: CallOptions & LockRules,
  ): Promise<Lock> {
    await mkdir(context.cacheFolder, { recursive: true });
    await sweepTemporary(context.cacheFolder);
    const words = createRedactor({ recipe, inputs: [] });
    const told = lockContext(context, recipe, words.progress(progress), signal);
    const lock = await lockRecipe(recipe, told, previous?.lock, { exact }).catch((error: unknown) => {
      throw words.hideError(error);
    });
    await locks.remember(lock, previous?.at ?? context.now());
    return lock;
  }

  async function previousOf(recipe: Recipe, given: Json | undefined): Promise<KnownLock | undefined> {
    return given === undefined ? locks.previous(recipe) : { lock: parseLock(given), at: 0 };
  }

  const builder: ImageBuilder = {
    methods: ['assemble'],
    async lock(given, progress, call) {
      const recipe = given as Recipe;
      const previous =
        call.exact === true && call.previous === undefined
          ? undefined
          : await previousOf(recipe, call.previous);
      return asJson(await resolve(recipe, previous, progress, call));
    },
    relock: (recipe, progress, call) => resolve(recipe, undefined, progress, call),
    async hotfix(lock, sets, progress, { signal }) {
      const words = createRedactor(lock);
      const told = lockContext(context, lock.recipe, words.progress(progress), signal);
      return hotfixLock(lock, sets.map(parseHotfixSet), told).catch((error: unknown) => {
        throw words.hideError(error);
      });
    },
    outdated: (lock, { signal }) => findOutdated(lock, lockContext(context, lock.recipe, silent, signal)),
    async whyRebuild(lock) {
      return whyRebuild(lock, await locks.lastBuilt(lock.recipe), context.layers);
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
    prune: () =>
      pruneCache(context.cacheFolder, options.limits ?? defaultCacheLimits, context.now(), (path) =>
        removePath(path, context.sandbox),
      ),
    async rebuild(lock, progress, { signal }, use) {
      const digest = lockDigest(lock);
      const report = await stepReport(context, lock, digest, progress);
      try {
        return await buildImage(context, { lock, lockDigest: digest, signal, report }, ({ path }) =>
          use(path),
        );
      } catch (error) {
        throw createRedactor(lock).hideError(error);
      } finally {
        await report.close();
      }
    },
    findInput: async (sha256) => (await context.inputs.find(sha256))?.path,
    async bringInput(lock, sha256, { signal }) {
      const own = lock.inputs.filter((input) => input.sha256 === sha256);
      const wanted = own.length > 0 ? own : lock.inputs.filter(({ source }) => hasParts(source));
      await fetchInputs(wanted, { ...fetchContext(context, { lock, signal }), kept: undefined });
      return (await context.inputs.find(sha256))?.path;
    },
    tools: {
      relock: async (recipe, progress, call) =>
        asJson(await builder.relock(recipe as Recipe, progress, call)),
      lockFile: async (recipe, all) => writeLockFile(recipe as Recipe, all.map(parseLock)),
      hotfix: async (lock, sets, progress, call) =>
        asJson(await builder.hotfix(parseLock(lock), sets, progress, call)),
      outdated: async (lock, call) => builder.outdated(parseLock(lock), call),
      whyRebuild: async (lock) => builder.whyRebuild(parseLock(lock)),
      async forecast(given, { previous, signal }) {
        const recipe = given as Recipe;
        const before = (await previousOf(recipe, previous))?.lock;
        return previewRecipeBuild(context, recipe, before, signal).catch((error: unknown) => {
          throw createRedactor({ recipe, inputs: [] }).hideError(error);
        });
      },
      async forecastHotfix(given, sets) {
        const lock = parseLock(given);
        const names = sets.map((set) => parseHotfixSet(set).name);
        return forecastHotfix(context, lock, names).catch((error: unknown) => {
          throw createRedactor(lock).hideError(error);
        });
      },
    },
  };
  return builder;
}

function asJson(lock: Lock): Json {
  return lock;
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
  const report = await stepReport(context, lock, digest, progress);
  try {
    const sealed = await buildImage(context, { ...request, signal, report }, (image) =>
      sealDisk(context, { lock, lockDigest: digest, image, signal, report }),
    );
    await locks.rememberBuilt(lock);
    return sealed;
  } catch (error) {
    throw createRedactor(lock).hideError(error);
  } finally {
    await report.close();
  }
}

function requireAssembly({ recipe }: Lock): void {
  if (recipe.method !== 'machine') return;
  throw new ImagoError(
    'provider-lacks',
    `${recipe.name} is built on a machine, and this provider only assembles disks.`,
    { hint: 'It can be checked, shown and locked, and built by a provider that has machines for it.' },
  );
}
