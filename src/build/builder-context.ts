// Puts together what a builder works with, from what its owner gives.
import { join } from 'node:path';
import type { LockedInput } from '../domain/lock/lock.ts';
import type { Recipe } from '../domain/recipe/recipe.ts';
import { machineNames } from '../domain/recipe/variables.ts';
import { type AddressGuard, ownerGuard } from '../host/network/address-guard.ts';
import { machineMirror } from '../host/tools/fetch-tools.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { FindCredentials } from './containers/oci-source.ts';
import { contentFolder } from './content/content-folder.ts';
import type { CacheLimits } from './content/prune.ts';
import { type DebianArchive, debianKeyring } from './debian/apt-workspace.ts';
import { writeKeyring } from './debian/signed-index.ts';
import { createDownloader, type DownloadRules } from './inputs/download.ts';
import { downloadProgress } from './inputs/download-progress.ts';
import { localFiles } from './inputs/local-files.ts';
import { type LayerCache, layerCache } from './layers/cache.ts';
import { type TreeCache, treeCache } from './layers/tree-cache.ts';
import type { AgentBundle, ArchiveWish, BuilderContext, LockContext } from './lock/context.ts';
import { canOverlay } from './sandbox/overlay.ts';
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts';

export interface BuilderOptions {
  /** Downloads, layers, and unfinished work. Several builders and processes can share it. */
  readonly cacheFolder: string;
  /** Where sealed disks go. Locking and looking need none. */
  readonly store?: DiskStore | undefined;
  /** The Debian archive of recipes that name none. That of the machine's own apt when absent. */
  readonly mirror?: string | undefined;
  readonly securityMirror?: string | undefined;
  /** The keys that an archive must be signed by. Debian's when absent. */
  readonly keyring?: string | undefined;
  /** Imago's own program for nodes. No image is locked if it is `missing`; without the option, images have none. */
  readonly agent?: AgentBundle | 'missing' | undefined;
  readonly findCredentials?: FindCredentials | undefined;
  readonly downloadRules?: DownloadRules | undefined;
  /** The addresses that recipes can have fetched. Everything but metadata services when absent. */
  readonly guard?: AddressGuard | undefined;
  readonly limits?: CacheLimits | undefined;
  readonly sandbox?: (() => Sandbox) | undefined;
  readonly now?: () => number;
}

/** What one builder works with, made once. */
export interface BuildContext extends BuilderContext {
  readonly store: DiskStore | undefined;
  readonly layers: LayerCache;
  /** Made when it is first needed: locking needs none. */
  readonly sandbox: () => Sandbox;
  readonly trees: () => TreeCache;
  /** Whether the sandbox can mount overlays; tried once. */
  readonly overlay: () => Promise<boolean>;
  readonly now: () => number;
}

export function buildContext(options: BuilderOptions): BuildContext {
  const { cacheFolder } = options;
  const inputs = contentFolder(cacheFolder);
  const { guard = ownerGuard } = options;
  const now = options.now ?? Date.now;
  let known: Sandbox | undefined;
  let overlay: Promise<boolean> | undefined;
  let mirror: Promise<string> | undefined;
  const ownMirror = () => {
    mirror ??= machineMirror();
    return mirror;
  };
  const sandbox = () => {
    known ??= (options.sandbox ?? createSandbox)();
    return known;
  };
  const { store, agent, findCredentials } = options;
  return {
    ...{ cacheFolder, inputs, store, agent, findCredentials, guard, now, sandbox },
    downloads: createDownloader(cacheFolder, inputs, options.downloadRules, guard),
    layers: layerCache(cacheFolder, inputs),
    trees: () => treeCache(cacheFolder, sandbox(), now),
    overlay: () => {
      overlay ??= canOverlay(sandbox(), join(cacheFolder, 'temporary'));
      return overlay;
    },
    findArchive: (wish) => findArchive(wish, { ...options, guard }, ownMirror),
    findKeyring: (wish) => findKeyring(wish, options),
  };
}

async function findArchive(
  wish: ArchiveWish,
  options: BuilderOptions & { readonly guard: AddressGuard },
  ownMirror: () => Promise<string>,
): Promise<DebianArchive> {
  const mirror = wish.mirror ?? options.mirror ?? process.env.IMAGO_DEBIAN_MIRROR ?? (await ownMirror());
  // The mirror of this host was configured by its administrator; one that a recipe names must follow the rules.
  if (wish.mirror === undefined) options.guard.trust(new URL(mirror));
  for (const named of [wish.mirror, wish.securityMirror]) {
    if (named !== undefined) await options.guard.checkName(new URL(named));
  }
  return {
    suite: wish.suite,
    machine: wish.machine,
    mirror,
    securityMirror: wish.securityMirror ?? options.securityMirror ?? besideMirror(mirror),
    components: wish.components ?? ['main'],
    keyring: await findKeyring(wish, options),
    redirects: wish.mirror === undefined && wish.securityMirror === undefined,
  };
}

async function findKeyring({ keys }: ArchiveWish, options: BuilderOptions): Promise<string> {
  if (keys !== undefined) return writeKeyring(options.cacheFolder, keys);
  return options.keyring ?? debianKeyring;
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
  base?: LockedInput,
): LockContext {
  const bar = downloadProgress((...done) => progress.progress(...done), context.now);
  return {
    ...context,
    ...{ signal, base },
    machine: machineNames[recipe.architecture],
    files: localFiles(recipe, context.cacheFolder),
    log: (line) => progress.log(line),
    progress: bar.parts,
    onBytes: bar.bytes,
  };
}
