// The builder role of a provider: locks recipes, builds disks from locks, and seals them in the store.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import type { Lock } from '../domain/lock.ts';
import type { Recipe } from '../domain/recipe.ts';
import { machineMirror } from '../images/fetch-tools.ts';
import type { DiskStore } from '../images/store/disk-store.ts';
import type { Builder, SealedDisk } from '../ports/provider-builder.ts';
import type { BuildContext } from './build-context.ts';
import { buildImage } from './build-image.ts';
import type { FindCredentials } from './containers/oci-source.ts';
import { type DebianArchive, debianKeyring } from './debian/apt-workspace.ts';
import { createDownloader, type DownloadRules } from './inputs/download.ts';
import { inputStore } from './inputs/input-store.ts';
import { layerCache } from './layers/layer-cache.ts';
import { treeCache } from './layers/tree-cache.ts';
import { checkLock } from './lock/check-lock.ts';
import type { AgentBundle, ArchiveWish, LockContext } from './lock/lock-context.ts';
import { lockRecipe } from './lock/lock-recipe.ts';
import { canOverlay } from './sandbox/overlay.ts';
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts';
import { findSealed, sealDisk } from './seal-disk.ts';
import { stepReport } from './step-report.ts';

export interface BuilderOptions {
  /** Downloads, layers and half-made things; may be shared by several builders and processes. */
  readonly cacheFolder: string;
  /** Where sealed disks go. */
  readonly store: DiskStore;
  /** The Debian archive of recipes that name none. That of the machine's own apt when absent. */
  readonly mirror?: string | undefined;
  readonly securityMirror?: string | undefined;
  /** The keys that an archive must be signed by. Debian's when absent. */
  readonly keyring?: string | undefined;
  readonly agent?: AgentBundle | undefined;
  readonly findCredentials?: FindCredentials | undefined;
  readonly downloadRules?: DownloadRules | undefined;
  readonly now?: () => number;
}

export function createBuilder(options: BuilderOptions): Builder {
  const context = buildContext(options);
  const building = new Map<string, Promise<SealedDisk>>();
  return {
    async lock(recipe, progress, { signal }) {
      await mkdir(context.cacheFolder, { recursive: true });
      const wanted = recipe as unknown as Recipe;
      const lock = await lockRecipe(wanted, lockContext(context, wanted, progress, signal));
      return lock as unknown as Json;
    },
    async build({ lock: given, lockDigest }, progress, { signal }) {
      const lock = checkLock(given, lockDigest);
      requireAssembly(lock);
      const sealed = await findSealed(context, lockDigest);
      if (sealed !== undefined) return sealed;
      const running = building.get(lockDigest);
      if (running !== undefined) return running;
      const report = await stepReport(context, lock, lockDigest, progress);
      const work = buildImage(context, { lock, lockDigest, signal, report }, (image) =>
        sealDisk(context, { lock, lockDigest, image, signal, report }),
      ).finally(() => {
        building.delete(lockDigest);
        return report.close();
      });
      building.set(lockDigest, work);
      return work;
    },
    find: (lockDigest) => findSealed(context, lockDigest),
  };
}

export function buildContext(options: BuilderOptions): BuildContext {
  const { cacheFolder } = options;
  const inputs = inputStore(cacheFolder);
  const now = options.now ?? Date.now;
  let known: Sandbox | undefined;
  let overlay: Promise<boolean> | undefined;
  const sandbox = () => {
    known ??= createSandbox();
    return known;
  };
  return {
    ...{
      cacheFolder,
      inputs,
      store: options.store,
      agent: options.agent,
      findCredentials: options.findCredentials,
    },
    downloads: createDownloader(cacheFolder, inputs, options.downloadRules),
    layers: layerCache(cacheFolder),
    sandbox,
    trees: () => treeCache(cacheFolder, sandbox(), now),
    overlay: () => {
      overlay ??= canOverlay(sandbox(), join(cacheFolder, 'temporary'));
      return overlay;
    },
    findArchive: (wish) => findArchive(wish, options),
    now,
  };
}

async function findArchive(wish: ArchiveWish, options: BuilderOptions): Promise<DebianArchive> {
  const mirror = wish.mirror ?? options.mirror ?? (await machineMirror());
  return {
    suite: wish.suite,
    machine: wish.machine,
    mirror,
    securityMirror: wish.securityMirror ?? options.securityMirror ?? besideMirror(mirror),
    keyring: options.keyring ?? debianKeyring,
  };
}

/** Debian's mirrors have the archive with security updates beside the main one. */
function besideMirror(mirror: string): string | undefined {
  return /\/debian\/?$/.test(mirror) ? mirror.replace(/\/debian\/?$/, '/debian-security') : undefined;
}

export function lockContext(
  context: BuildContext,
  recipe: Recipe,
  progress: Pick<LockContext, 'progress' | 'log'>,
  signal: AbortSignal | undefined,
): LockContext {
  const { cacheFolder, inputs, downloads, findArchive: find, findCredentials, agent } = context;
  return {
    ...{ cacheFolder, inputs, downloads, findArchive: find, findCredentials, agent, signal },
    folder: recipe.folder ?? '.',
    log: (line) => progress.log(line),
    progress: (done, total, sentence) => progress.progress(done, total, sentence),
  };
}

function requireAssembly({ recipe }: Lock): void {
  if (recipe.method !== 'machine') return;
  throw new ImagoError(
    'provider-lacks',
    `${recipe.name} is built on a machine, and this provider only assembles disks.`,
  );
}
