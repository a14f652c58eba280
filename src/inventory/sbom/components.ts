// The recipe's components for an SBOM: what the lock put on the disk beside Debian packages, each with those files
// of the disk that are surely its own.
import { componentInputs, type Lock, type LockedInput } from '../../domain/lock/lock.ts';
import type { RecipeComponent } from '../../domain/recipe/recipe.ts';
import { expandOne, substitute } from '../../domain/recipe/variables.ts';
import type { Inventory } from '../model/inventory.ts';
import type { PrivateInput } from '../model/redact.ts';
import { encode, type SbomFile } from './subject.ts';

export interface SbomComponent {
  readonly name: string;
  readonly version: string;
  /** `binary` is one file, `files` an archive that was unpacked. */
  readonly kind: 'binary' | 'files';
  /** As it was locked: of the file, or of the archive that the files came in. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly isItsFile: (path: string) => boolean;
}

const agentFile = /^\/usr\/(?:bin\/imago-agent|lib\/imago\/agent[^/]*\.js)$/;

/**
 * In the order of the lock. Private ones are left out. An archive's files are found by its directory, and only if that
 * folder is its alone: one that packages, settings or other archives use too says nothing about whose a file is.
 * Windows tells its components as cached files: it has none here.
 */
export function sbomComponents(
  lock: Lock | undefined,
  inventory: Inventory,
  secrets: readonly PrivateInput[],
): readonly SbomComponent[] {
  if (lock === undefined || inventory.windows !== undefined) return [];
  const recipe = expandOne(lock.recipe);
  const hidden = new Set(secrets.flatMap(({ names }) => names));
  const places = new Map(recipe.components.flatMap((component) => placesOf(component, lock.inputs)));
  const taken = [
    ...inventory.files.flatMap((file) =>
      file.package === undefined || file.type === 'directory' ? [] : [file.path],
    ),
    ...recipe.components.flatMap(({ config = [] }) => config.map(({ path }) => path)),
    ...(recipe.settings.files ?? []).map(({ path }) => path),
  ];
  return lock.inputs.filter(isComponent).flatMap((input) => {
    if (input.private === true || hidden.has(input.name)) return [];
    const { name, version, kind, sha256, sizeBytes } = input;
    const others = [...places].flatMap(([other, path]) => (other === input ? [] : [path]));
    const isItsFile = fileRule(input, places.get(input), [...taken, ...others]);
    return [{ name, version, kind, sha256, sizeBytes, isItsFile }];
  });
}

type ComponentInput = LockedInput & { readonly kind: SbomComponent['kind'] };

function isComponent(input: LockedInput): input is ComponentInput {
  return input.kind === 'binary' || input.kind === 'files';
}

function placesOf(
  component: RecipeComponent,
  inputs: readonly LockedInput[],
): (readonly [LockedInput, string])[] {
  const { to } = component;
  if (to === undefined) return [];
  return componentInputs(component, inputs).flatMap(({ version, input }) =>
    input === undefined ? [] : [[input, substitute(to, { version }).text.replace(/\/+$/, '')] as const],
  );
}

function fileRule(
  { kind, name }: ComponentInput,
  place: string | undefined,
  taken: readonly string[],
): SbomComponent['isItsFile'] {
  if (place === undefined) return name === 'imago-agent' ? (path) => agentFile.test(path) : () => false;
  if (kind === 'binary') return (path) => path === place;
  const isShared = taken.some((path) => path === place || path.startsWith(`${place}/`));
  return isShared ? () => false : (path) => path.startsWith(`${place}/`);
}

export interface ComponentFiles {
  readonly components: readonly { readonly item: SbomComponent; readonly files: readonly SbomFile[] }[];
  /** Of no component. */
  readonly rest: readonly SbomFile[];
}

/** Each file goes to one component at most. */
export function componentsWithFiles(
  components: readonly SbomComponent[],
  files: readonly SbomFile[],
): ComponentFiles {
  const given = new Set<SbomFile>();
  const owners = components.map((item) => {
    const own = files.filter((file) => !given.has(file) && item.isItsFile(file.path));
    for (const file of own) given.add(file);
    return { item, files: own };
  });
  return { components: owners, rest: files.filter((file) => !given.has(file)) };
}

/** A package URL: `pkg:generic/kubelet@1.34.2`. */
export function componentUrl({ name, version }: SbomComponent): string {
  return `pkg:generic/${encode(name)}${version === '' ? '' : `@${encode(version)}`}`;
}
