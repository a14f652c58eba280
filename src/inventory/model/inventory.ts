// What is on a sealed disk, as data: packages, files, units, settings, container images. SBOM, release notes and
// differences are all made from it, so that none of them can say what the disk does not.
import type { FileType } from '../../disk/tree/file-tree.ts';

export interface Inventory {
  /** Raised when the meaning changes. */
  readonly format: 1;
  readonly os: 'linux' | 'windows';
  /** From os-release: `Debian GNU/Linux 13 (trixie)`. Empty when the disk does not say. */
  readonly system: string;
  /** Of the system's distribution in the sense of package URLs, `debian`; empty when the disk does not say. */
  readonly distribution: string;
  /** What /etc/imago-release says; empty when the disk was not built by Imago. */
  readonly release: Readonly<Record<string, string>>;
  readonly kernel: InventoryKernel;
  readonly sizes: InventorySizes;
  readonly packages: readonly InventoryPackage[];
  readonly files: readonly InventoryFile[];
  readonly units: readonly InventoryUnit[];
  readonly settings: InventorySettings;
  /** Absent for Windows, and in inventories of an earlier Imago. */
  readonly boot?: InventoryBoot;
  readonly containerImages: readonly InventoryContainerImage[];
  /** Absent for a disk without an agent, and in inventories of an earlier Imago. */
  readonly agent?: InventoryAgent;
  /** Only for `os: windows`. */
  readonly windows?: InventoryWindows;
}

export interface InventoryKernel {
  /** Of the one that starts; empty when the disk has none. */
  readonly version: string;
  /** Every version that has modules on the disk. */
  readonly installed: readonly string[];
  /** Of the kernel that starts, and of its initrd: they lie outside of the root file system. Empty when unknown. */
  readonly sha256: string;
  readonly initrdSha256: string;
}

/** Of the drivers that a cloud needs, and nothing else. */
export interface InventoryBoot {
  readonly builtIn: readonly string[];
  readonly modules: readonly string[];
  /** Absent if the initrd does not show its names. */
  readonly initrd?: readonly string[];
  /** Network cards that the configuration calls by name. */
  readonly namedCards: readonly string[];
}

export interface InventorySizes {
  readonly diskBytes: number;
  /** Of the root file system. */
  readonly rootBytes: number;
  readonly usedBytes: number;
  /** Of all files, each counted once. */
  readonly fileBytes: number;
}

export interface InventoryPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The source package, with its version if that is another. */
  readonly source: string;
  readonly sourceVersion: string;
  readonly maintainer: string;
  readonly homepage: string;
  readonly installedBytes: number;
}

export interface InventoryFile {
  readonly path: string;
  readonly type: FileType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  /** Absent for all but files, and for a file that says it is larger than its file system. */
  readonly sha256?: string;
  /** SPDX wants it beside the sha256. */
  readonly sha1?: string;
  /** A symlink's target. */
  readonly link?: string;
  /** `MAJOR:MINOR`. */
  readonly device?: string;
  /** Extended attributes by name, in hexadecimal. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** The Debian package that brought it. */
  readonly package?: string;
  /** Why it has no hash although it is a file: `compressed`, `encrypted`. */
  readonly unreadable?: string;
}

export const inventoryUnitStates = ['enabled', 'disabled', 'static', 'masked', 'alias'] as const;
/** `static` has nothing to enable it by; `alias` is another name of a unit. */
export type InventoryUnitState = (typeof inventoryUnitStates)[number];

export interface InventoryUnit {
  readonly name: string;
  readonly state: InventoryUnitState;
  /** Of the unit's file; that of the template for an instance. */
  readonly path: string;
  /** The units that start it, e.g. `multi-user.target`: by the system's own links as well. */
  readonly wantedBy: readonly string[];
  readonly dropIns: readonly string[];
}

export interface InventorySettings {
  /** The values that win, as systemd-sysctl would set them. */
  readonly sysctl: Readonly<Record<string, string>>;
  readonly modules: readonly string[];
  readonly kernelArguments: readonly string[];
  readonly users: readonly InventoryUser[];
  readonly groups: readonly InventoryGroup[];
}

export interface InventoryUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
  /** Whether a login by password is possible. The password itself is never read further. */
  readonly hasPassword: boolean;
}

export interface InventoryGroup {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

export interface InventoryContainerImage {
  readonly name: string;
  /** Of the manifest or the list of manifests: `sha256:…`. */
  readonly digest: string;
  /** Config and layers as they are stored; 0 when the content is not on the disk. */
  readonly sizeBytes: number;
  /** `linux/amd64`; empty when the content is not on the disk. */
  readonly platform: string;
  /** Never collected by the kubelet. */
  readonly isPinned: boolean;
}

export interface InventoryAgent {
  /** What it can do with a node config. */
  readonly abilities: readonly string[];
  /** Versions by the name of the component. */
  readonly components: Readonly<Record<string, readonly string[]>>;
  /** There are others, which are private. */
  readonly hidesComponents?: true;
}

export interface InventoryPatch {
  /** `KB5032198`; the name of its package where neither that nor its manifest has a number. */
  readonly kb: string;
  /** As the lock says: `B`, `preview`, `out-of-band`; else empty. */
  readonly class: string;
  /** Of the file that it came in, as the lock says; else empty. */
  readonly sha256: string;
  /** The rest is read from the disk: `cumulative`, `servicing-stack`, `dotnet`, `update`. */
  readonly kind?: string;
  readonly package?: string;
  readonly version?: string;
  /** `installed`, `permanent`, `staged`, `pending a restart`. */
  readonly state?: string;
  /** `Security Update`. */
  readonly release?: string;
  readonly installedAt?: string;
}

export interface InventoryService {
  readonly name: string;
  readonly start: string;
  readonly path?: string;
  readonly account?: string;
}

export interface InventoryFinding {
  readonly rule: string;
  /** A file, or a key of the registry. */
  readonly path: string;
  readonly reason: string;
  /** `note`: usual on a sealed disk, and must differ between two machines made from it. */
  readonly level: 'fail' | 'note';
}

export interface InventoryWindows {
  /** Whether the rest was read from the disk, or is what the lock says of a disk without a Windows. */
  readonly source?: 'disk' | 'lock';
  readonly version?: {
    readonly product: string;
    readonly edition: string;
    readonly installation: string;
    readonly display: string;
    readonly build: number;
    /** Absent where a private update brought it. */
    readonly ubr?: number;
  };
  readonly features: readonly string[];
  readonly capabilities?: readonly string[];
  /** Quick-fix engineering: the patches on the system. */
  readonly patches: readonly InventoryPatch[];
  readonly services: readonly InventoryService[];
  readonly drivers?: readonly InventoryService[];
  readonly programs?: readonly {
    readonly name: string;
    readonly version: string;
    readonly publisher: string;
  }[];
  /** What Defender does not look at. */
  readonly exclusions?: readonly string[];
  readonly cachedFiles: readonly {
    readonly name: string;
    readonly version: string;
    readonly sha256: string;
    readonly sizeBytes: number;
  }[];
  readonly registry: readonly { readonly path: string; readonly name: string; readonly value: string }[];
  readonly seal?: {
    readonly imageState: string;
    readonly pending: readonly string[];
    readonly timeZone: string;
  };
  readonly findings?: readonly InventoryFinding[];
  /** How the disk differs from what the lock says; a sentence each. */
  readonly differences?: readonly string[];
}
