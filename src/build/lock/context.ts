// What builders and the locking of a recipe work with.
import type { LockedInput } from '../../domain/lock/lock.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import type { FindCredentials } from '../containers/oci-source.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import type { DebianArchive } from '../debian/apt-workspace.ts';
import type { Downloader } from '../inputs/download.ts';
import type { LocalFiles } from '../inputs/local-files.ts';

/** What every job of one builder shares. */
export interface BuilderContext {
  readonly cacheFolder: string;
  readonly inputs: ContentFolder;
  readonly downloads: Downloader;
  /** Checks the addresses of archives and registries. */
  readonly guard: AddressGuard;
  /** Finds the archive of a base system. */
  readonly findArchive: (base: ArchiveWish) => Promise<DebianArchive>;
  /** Finds the keys that the index of an archive must be signed by. */
  readonly findKeyring: (base: ArchiveWish) => Promise<string>;
  readonly findCredentials?: FindCredentials | undefined;
  /** Imago's own program for nodes, as an archive of files from the root on. */
  readonly agent?: AgentBundle | 'missing' | undefined;
}

/** What work on the inputs of one recipe needs in addition. */
export interface LockContext extends BuilderContext {
  /** Debian's and Go's name of the recipe's processor. */
  readonly machine: string;
  /** The version that a machine build starts from. */
  readonly base?: LockedInput | undefined;
  /** The files of this host that the recipe can read. */
  readonly files: LocalFiles;
  readonly signal?: AbortSignal | undefined;
  readonly log: (line: string) => void;
  readonly progress: (done: number, total: number, sentence: string) => void;
  /** Reports how much of one input has been received. */
  readonly onBytes?: (label: string, bytes: number, total: number | undefined) => void;
}

export interface ArchiveWish {
  readonly suite: string;
  readonly machine: string;
  readonly mirror?: string | undefined;
  readonly securityMirror?: string | undefined;
  readonly components?: readonly string[] | undefined;
  /** In ASCII armor. Without them the builder's own keys count. */
  readonly keys?: readonly string[] | undefined;
}

export interface AgentBundle {
  readonly version: string;
  /** A tar archive. */
  readonly archive: Uint8Array;
}
