// The recipe: what is on a node, in one place. Here is its checked form: shorthand written out, sizes in bytes,
// nothing filled in that the author left out, so that a new default does not change what old recipes say.
import type { NumberingPolicy } from '../image/numbering.ts';
import type { Architecture, OperatingSystem } from '../image/version.ts';
import type { ConfigFile, RecipeSettings } from './settings.ts';
import type { RecipeWindows } from './windows.ts';

export const buildMethods = ['assemble', 'machine'] as const;
/** `assemble` puts the disk together offline; `machine` runs steps on a machine and seals its disk. */
export type BuildMethod = (typeof buildMethods)[number];

/** The two generations of virtual machines: UEFI and BIOS. */
export const bootFirmwares = ['uefi', 'bios'] as const;
export type BootFirmware = (typeof bootFirmwares)[number];

export type Recipe = {
  readonly name: string;
  readonly numbering: NumberingPolicy;
  readonly os: OperatingSystem;
  readonly architecture: Architecture;
  /** `assemble` when absent. */
  readonly method?: BuildMethod;
  /** Needed by the Kubernetes numbering policies. */
  readonly kubernetes?: string;
  /** One version of the image for each; gone once the recipe is expanded. */
  readonly matrix?: RecipeMatrix;
  readonly base?: RecipeBase;
  readonly disk?: RecipeDisk;
  readonly packages?: readonly RecipePackage[];
  readonly components: readonly RecipeComponent[];
  readonly images?: readonly RecipeImage[];
  readonly settings: RecipeSettings;
  /** For `os: windows` only. */
  readonly windows?: RecipeWindows;
  /** For `method: machine` only: run in this order. */
  readonly steps?: readonly RecipeStep[];
  readonly tests?: readonly RecipeTest[];
  readonly budgets?: RecipeBudgets;
  /** Both kinds if absent. */
  readonly firmware?: readonly BootFirmware[];
  readonly expect?: RecipeExpect;
  /** Until when its versions are supported: a day, YYYY-MM-DD. */
  readonly support?: { readonly until: string };
  readonly notes?: string;
  /** Where relative paths start, on the host that reads the files. Without it, no file can be read. Not part of a lock. */
  readonly folder?: string;
  /** Further directories that its files can be in. Not part of a lock. */
  readonly roots?: readonly string[];
};

/** Returns the recipe without what only one host knows. */
export function withoutPlace({ folder: _, roots: __, ...written }: Recipe): Recipe {
  return written;
}

export type RecipeMatrix = {
  readonly kubernetes: readonly string[];
};

export type RecipeBase = {
  readonly distribution?: 'debian';
  readonly suite?: string;
  /** The archive's address. That of the machine's own apt when absent. */
  readonly mirror?: string;
  readonly securityMirror?: string;
  /** Parts of the archive. `main` when absent. */
  readonly components?: readonly string[];
  /** Public keys in ASCII armor, one of which must sign the archive. Debian's when absent. */
  readonly keys?: readonly string[];
  /** Beyond what every node has. They change rarely: they lie below `packages`. */
  readonly packages?: readonly RecipePackage[];
  /** For `method: machine`: the image to start from, as the provider calls it. */
  readonly image?: string;
};

export type RecipeDisk = {
  readonly sizeBytes: number;
};

export type RecipePackage = {
  readonly name: string;
  /** A Debian version, or the upstream part of one. Any when absent: the lock fixes it. */
  readonly version?: string;
};

export type RecipeComponent = {
  readonly name: string;
  /** One of `version` and `versions`; a package may have neither. */
  readonly version?: string;
  /** Side by side on one image; `pick` says which one a node begins with. */
  readonly versions?: readonly string[];
  /** The Debian package of the same name when absent. */
  readonly from?: ComponentSource;
  /** Where it goes: an absolute path, of a file for `url` and `file`, of a folder for the others. */
  readonly to?: string;
  /** Permission bits of a single file or of those of an artifact, in octal. 0755 when absent. */
  readonly mode?: string;
  readonly unit?: ComponentUnit;
  readonly config?: readonly ConfigFile[];
  readonly pick?: ComponentPick;
  readonly updates?: UpdateRule;
  /** Its name and address stay out of notes, logs and catalogue, and the version is restricted. */
  readonly private?: true;
};

/** Of one text, or of each version by its number. */
export type ExpectedSha256 = string | Readonly<Record<string, string>>;

export type ComponentSource =
  | { readonly package: string }
  | { readonly url: string; readonly sha256?: ExpectedSha256 }
  | { readonly file: string; readonly sha256?: ExpectedSha256 }
  | { readonly folder: string }
  | {
      readonly tar: string;
      readonly sha256?: ExpectedSha256;
      /** Leading folders that are left out. */
      readonly strip?: number;
      /** Only these paths, after `strip`; a folder with all below it. */
      readonly only?: readonly string[];
    }
  | { readonly oci: string; readonly layout?: string; readonly digest?: string };

export type SourceKind = 'package' | 'url' | 'file' | 'folder' | 'tar' | 'oci';

export type ComponentUnit = {
  /** `NAME.service` after the component when absent. */
  readonly name?: string;
  readonly content?: string;
  readonly file?: string;
  /** True when absent. */
  readonly enable?: boolean;
};

export type ComponentPick = {
  /** A symbolic link to the version that is in use. */
  readonly link: string;
  /** The version of a node whose config names none. */
  readonly default: string;
};

/** Where newer versions are found. */
export type UpdateRule = {
  /** The address of a text in which they are named. */
  readonly page: string;
  /** A regular expression whose first group is a version. */
  readonly pattern: string;
  /** How far a newer version may be away: `patch` when absent. */
  readonly within?: 'patch' | 'minor' | 'any';
};

export type RecipeImage = {
  /** The name that containers ask for, e.g. `example.com/pause:3.10`. */
  readonly name: string;
  /** A registry's reference, `layout` a folder in OCI layout, `tar` an archive of either kind. The name when absent. */
  readonly from?: ImageSource;
  /** Never collected by the kubelet. */
  readonly pinned?: true;
  readonly private?: true;
};

export type ImageSource =
  | { readonly registry: string; readonly digest?: string }
  | { readonly layout: string; readonly digest?: string }
  | { readonly tar: string; readonly sha256?: string };

export type RecipeStep = {
  readonly name: string;
  readonly run?: string;
  readonly file?: string;
  readonly restart?: true;
  readonly timeoutMs?: number;
};

export type RecipeTest = {
  readonly name: string;
  /** A command line for the node's shell; it passes when it ends with 0. */
  readonly run: string;
  readonly timeoutMs?: number;
};

export type RecipeBudgets = {
  /** What the files may take up on the disk. */
  readonly sizeBytes?: number;
  readonly bootToReadyMs?: number;
};

/** What the built-in checks of `imago test` let pass beyond what they know of any node. */
export type RecipeExpect = {
  /** Ports that are open to the network, of TCP and of UDP. */
  readonly ports?: readonly number[];
  /** Absolute paths of programs with the setuid or the setgid bit. */
  readonly setuid?: readonly string[];
};

/** Where a component comes from, with what is left out filled in. */
export function sourceOf(component: Pick<RecipeComponent, 'name' | 'from'>): ComponentSource {
  return component.from ?? { package: component.name };
}

export function sourceKind(source: ComponentSource): SourceKind {
  if ('package' in source) return 'package';
  if ('url' in source) return 'url';
  if ('file' in source) return 'file';
  if ('folder' in source) return 'folder';
  return 'tar' in source ? 'tar' : 'oci';
}

/** What the locked input of a component is called. */
export function componentKind(component: Pick<RecipeComponent, 'name' | 'from'>): ComponentKind {
  const kind = sourceKind(sourceOf(component));
  if (kind === 'package') return 'package';
  return kind === 'url' || kind === 'file' ? 'binary' : 'files';
}

export const componentKinds = ['package', 'binary', 'files', 'container-image'] as const;
export type ComponentKind = (typeof componentKinds)[number];

/** All versions of a component, the first being the one that it begins with. */
export function versionsOf({ version, versions }: RecipeComponent): readonly string[] {
  if (versions !== undefined) return versions;
  return version === undefined ? [] : [version];
}

/** Files beside the recipe whose text a component brings: of its unit and its configuration. */
export function componentTexts({ unit, config = [] }: RecipeComponent): readonly string[] {
  return [unit, ...config].flatMap((text) => (text?.file === undefined ? [] : [text.file]));
}

/** Whether a version made of it may reach only named pools (private inputs). */
export function isRestricted(recipe: Recipe): boolean {
  return [...recipe.components, ...(recipe.images ?? []), ...(recipe.windows?.patches ?? [])].some(
    (input) => input.private === true,
  );
}
