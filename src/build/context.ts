// What one builder works with, made once.
import type { AddressGuard } from '../host/network/address-guard.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { FindCredentials } from './containers/oci-source.ts';
import type { DebianArchive } from './debian/apt-workspace.ts';
import type { Downloader } from './inputs/download.ts';
import type { InputCache } from './inputs/input-cache.ts';
import type { LayerCache } from './layers/cache.ts';
import type { TreeCache } from './layers/tree-cache.ts';
import type { AgentBundle, ArchiveWish } from './lock/context.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

export interface BuildContext {
  readonly cacheFolder: string;
  readonly store: DiskStore | undefined;
  readonly inputs: InputCache;
  readonly downloads: Downloader;
  /** Checks the addresses of registries. */
  readonly guard: AddressGuard;
  readonly layers: LayerCache;
  /** Made when it is first needed: locking needs none. */
  readonly sandbox: () => Sandbox;
  readonly trees: () => TreeCache;
  /** Whether the sandbox can lay folders over each other; tried once. */
  readonly overlay: () => Promise<boolean>;
  readonly findArchive: (wish: ArchiveWish) => Promise<DebianArchive>;
  readonly findKeyring: (wish: ArchiveWish) => Promise<string>;
  readonly findCredentials: FindCredentials | undefined;
  readonly agent: AgentBundle | 'missing' | undefined;
  readonly now: () => number;
}
