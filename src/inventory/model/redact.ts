// Takes private inputs out of an inventory: their names, places and addresses stay out of all that is made from it.
// That something private is there, and its hashes, stay visible.
import { describeInput, type Lock, type LockedInput } from '../../domain/lock/lock.ts';
import { componentTexts, type RecipeComponent, sourceOf } from '../../domain/recipe/recipe.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { receiptFolder } from '../../install/receipt.ts';
import type {
  Inventory,
  InventoryAgent,
  InventoryFile,
  InventoryPatch,
  InventoryWindows,
} from './inventory.ts';

export interface PrivateInput {
  /** The replacement for its name: `private-1`. */
  readonly alias: string;
  /** Names by which it is known: its own, those of its package and its unit, and those of its files beside the recipe. */
  readonly names: readonly string[];
  /** Files and folders that it brought, beside what its package owns. */
  readonly places: readonly string[];
  /** In lower case: a file whose path has one of them tells of it. */
  readonly marks?: readonly string[];
}

/** The private inputs of locks, in their order; what is in several of them has one alias. */
export function privateInputs(...locks: readonly Lock[]): PrivateInput[] {
  const named = new Map<string, { names: Set<string>; places: Set<string> }>();
  const note = (name: string, places: readonly string[] = [], more: readonly string[] = []) => {
    const known = named.get(name) ?? { names: new Set([name]), places: new Set<string>() };
    named.set(name, known);
    for (const other of more) known.names.add(other);
    for (const place of places) known.places.add(place);
  };
  for (const { inputs, recipe } of locks) {
    for (const component of expandOne(recipe).components) {
      if (component.private === true) note(component.name, placesOf(component), namesOf(component));
    }
    for (const { name, private: secret } of recipe.images ?? []) if (secret === true) note(name);
    for (const { kb, private: secret } of recipe.windows?.patches ?? []) if (secret === true) note(kb);
    const isKnown = (name: string) => [...named.values()].some(({ names }) => names.has(name));
    for (const input of inputs) if (input.private === true && !isKnown(input.name)) note(input.name);
  }
  return [...named.values()].map(({ names, places }, index) => ({
    alias: `private-${index + 1}`,
    names: [...names],
    places: [...places],
  }));
}

function placesOf({ name, to, unit, config = [], pick }: RecipeComponent): string[] {
  const unitName = unit === undefined ? undefined : (unit.name ?? `${name}.service`);
  return [to, pick?.link, ...config.map(({ path }) => path), ...unitPlaces(unitName)].filter(isText);
}

function namesOf(component: RecipeComponent): string[] {
  const { name, unit } = component;
  const source = sourceOf(component);
  const unitName = unit === undefined ? undefined : (unit.name ?? `${name}.service`);
  return ['package' in source ? source.package : undefined, unitName, ...componentTexts(component)].filter(
    isText,
  );
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}

function unitPlaces(name: string | undefined): string[] {
  if (name === undefined) return [];
  return ['/etc/systemd/system', '/usr/lib/systemd/system'].flatMap((folder) => [
    `${folder}/${name}`,
    `${folder}/${name}.d`,
    `${folder}/multi-user.target.wants/${name}`,
  ]);
}

/** Locks that were made before do not mark the packages and texts of private components: these go by their name. */
export function isSecret({ name, private: secret }: LockedInput, secrets: readonly PrivateInput[]): boolean {
  return secret === true || secrets.some(({ names }) => names.includes(name));
}

/** For notes and provenance: what an input is called where everybody may read it. */
export function publicName(input: LockedInput, secrets: readonly PrivateInput[]): string {
  if (!isSecret(input, secrets)) return input.name;
  return secrets.find(({ names }) => names.includes(input.name))?.alias ?? describeInput(input);
}

/** What of a package would tell which one it is. */
const untold = { version: '', sourceVersion: '', maintainer: '', homepage: '' };

/** The same inventory under the aliases. Without private inputs it is returned as it is. */
export function redactInventory(inventory: Inventory, secrets: readonly PrivateInput[]): Inventory {
  if (secrets.length === 0) return inventory;
  const aliasOf = (name: string) => secrets.find(({ names }) => names.includes(name))?.alias;
  const rename = <T extends { readonly name: string }>(item: T): T => {
    const alias = aliasOf(item.name);
    return alias === undefined ? item : { ...item, name: alias };
  };
  const { windows, agent } = inventory;
  return {
    ...inventory,
    packages: inventory.packages.map((item) => {
      const alias = aliasOf(item.name);
      if (alias === undefined) return item;
      return { ...item, ...untold, name: alias, source: alias };
    }),
    files: redactFiles(inventory.files, [
      ...secrets,
      ...(windows === undefined ? [] : buildSecrets(windows, secrets)),
    ]),
    units: inventory.units.map((unit) => {
      const alias = aliasOf(unit.name);
      return alias === undefined ? unit : { ...unit, name: alias, path: `/${alias}`, dropIns: [] };
    }),
    containerImages: inventory.containerImages.map(rename),
    ...(agent !== undefined && { agent: redactAgent(agent, (name) => aliasOf(name) !== undefined) }),
    ...(windows !== undefined && hideWindows(inventory, windows, secrets)),
  };
}

/**
 * What the component store names after private updates: their packages, and what has their build and revision in its
 * name. Where a patch is private, an update that brought the system's revision or has no number is taken for it.
 */
function buildSecrets(
  { patches, version: stated }: InventoryWindows,
  secrets: readonly PrivateInput[],
): readonly PrivateInput[] {
  const aliasOf = (kb: string) => secrets.find(({ names }) => names.includes(kb))?.alias;
  const first = secrets.find(({ names }) => names.some((name) => /^KB\d+$/.test(name)));
  if (first === undefined || stated === undefined) return [];
  const revision = `${stated.build}.${stated.ubr ?? ''}`;
  const isSuspect = ({ kb, version = '' }: InventoryPatch) =>
    aliasOf(kb) !== undefined || version.startsWith(`${revision}.`) || !/^KB\d+$/.test(kb);
  const hidden = patches.filter(isSuspect).map(({ kb, package: name = '', version = '' }) => {
    const marks = [kb, name, /^\d+\.\d+/.exec(version)?.[0] ?? ''].filter((mark) => mark !== '');
    return {
      alias: aliasOf(kb) ?? first.alias,
      ...{ names: [kb], places: [], marks: marks.map((mark) => mark.toLowerCase()) },
    };
  });
  return [...hidden, { alias: first.alias, names: [], places: [], marks: [revision] }];
}

function hideWindows(
  { system }: Inventory,
  windows: InventoryWindows,
  secrets: readonly PrivateInput[],
): Pick<Inventory, 'system' | 'windows'> {
  const hidden = buildSecrets(windows, secrets);
  const aliasOf = (name: string) => [...secrets, ...hidden].find(({ names }) => names.includes(name))?.alias;
  const isTelling = (text: string) => hidden.some(({ marks = [] }) => holds(text, marks));
  const rename = <T extends { readonly name: string }>(item: T): T => {
    const alias = aliasOf(item.name);
    return alias === undefined ? item : { ...item, name: alias };
  };
  const { version } = windows;
  const { ubr: _, ...bare } = version ?? { ubr: 0 };
  const places = secrets.flatMap((secret) => secret.places.map((place) => diskPlace(place).toLowerCase()));
  const isPlaced = ({ path }: { readonly path: string }) =>
    places.some((place) => diskPlace(path).toLowerCase().startsWith(place));
  return {
    system: hidden.length === 0 ? system : system.replace(/ (\d+)\.\d+$/, ' $1'),
    windows: {
      ...windows,
      ...(version !== undefined && { version: hidden.length === 0 ? version : (bare as typeof version) }),
      patches: windows.patches.map((patch) => {
        const alias = aliasOf(patch.kb);
        return alias === undefined ? patch : { kb: alias, class: patch.class, sha256: patch.sha256 };
      }),
      cachedFiles: windows.cachedFiles.map(rename),
      services: windows.services.map(rename),
      ...(windows.capabilities !== undefined && {
        capabilities: windows.capabilities.filter((text) => !isTelling(text)),
      }),
      ...(windows.programs !== undefined && {
        programs: windows.programs.filter(({ name, version: number }) => !isTelling(`${name} ${number}`)),
      }),
      registry: windows.registry.filter(({ path, value }) => !isTelling(`${path} ${value}`)),
      ...(windows.findings !== undefined && {
        findings: windows.findings.filter((finding) => !isTelling(finding.path) && !isPlaced(finding)),
      }),
    },
  };
}

/** `C:\\k\\x` as a path of the volume. */
function diskPlace(place: string): string {
  return place.replace(/^[A-Z]:/i, '').replaceAll('\\', '/');
}

function holds(text: string, marks: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return marks.some((mark) => lower.includes(mark));
}

/** Files of one private input are numbered in the order of their paths. */
function redactFiles(files: readonly InventoryFile[], secrets: readonly PrivateInput[]): InventoryFile[] {
  const hidden = new Map<string, PrivateInput>();
  const shown = new Set<string>();
  for (const file of files) {
    const secret = secrets.find((candidate) => belongsTo(file, candidate));
    if (secret !== undefined) hidden.set(file.path, secret);
    else if (file.type !== 'directory') for (const folder of foldersOf(file.path)) shown.add(folder);
  }
  // A folder that holds nothing but private files would tell their place.
  for (const [path, secret] of [...hidden]) {
    for (const folder of foldersOf(path)) {
      if (!shown.has(folder) && !hidden.has(folder) && folder !== '/') hidden.set(folder, secret);
    }
  }
  const numbers = new Map<string, number>();
  return files
    .map((file) => {
      const secret = hidden.get(file.path);
      if (secret === undefined) return file;
      const number = (numbers.get(secret.alias) ?? 0) + 1;
      numbers.set(secret.alias, number);
      return hideFile(file, secret.alias, number);
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function hideFile(file: InventoryFile, alias: string, number: number): InventoryFile {
  const { link, package: owner, ...rest } = file;
  return {
    ...rest,
    path: `/${alias}/${number}`,
    ...(link !== undefined && { link: alias }),
    ...(owner !== undefined && { package: alias }),
  };
}

function belongsTo(file: InventoryFile, { names, places, marks = [] }: PrivateInput): boolean {
  if (holds(file.path, marks)) return true;
  if (file.package !== undefined && names.includes(file.package)) return true;
  if (names.some((name) => isRecordOf(file.path, name))) return true;
  return places
    .map(diskPlace)
    .some((place) => file.path === place || file.path.startsWith(`${place}/`) || file.link === place);
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

/** dpkg names its records of a package after it, and so does Imago those of a component. */
function isRecordOf(path: string, name: string): boolean {
  const prefix = `/var/lib/dpkg/info/${name}`;
  return (
    path.startsWith(`${prefix}.`) || path.startsWith(`${prefix}:`) || path === `${receiptFolder}/${name}.json`
  );
}

function redactAgent(agent: InventoryAgent, isSecret: (name: string) => boolean): InventoryAgent {
  const shown = Object.entries(agent.components).filter(([name]) => !isSecret(name));
  if (shown.length === Object.keys(agent.components).length) return agent;
  return { ...agent, components: Object.fromEntries(shown), hidesComponents: true };
}
