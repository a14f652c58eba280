// Turns what a captured version has in addition to the version that was built from a recipe into additions to the recipe.
// What a recipe cannot say is reported.

import { addToYaml, type YamlAddition } from '../../document/edit-yaml.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { Changed, InventoryDiff } from '../../inventory/diff/diff.ts';
import type { InventoryFile } from '../../inventory/model/inventory.ts';
import type { Absorbed } from '../../ports/provider/builder.ts';

export interface AbsorbRequest {
  /** Composed. */
  readonly recipe: Recipe;
  /** The file that is edited. */
  readonly text: string;
  readonly diff: InventoryDiff;
  /** Names that are left out. */
  readonly skip: readonly string[];
  /** Of added packages: those that no other one needs. */
  independent(names: readonly string[]): Promise<ReadonlySet<string>>;
  texts(paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

interface Found {
  readonly additions: readonly YamlAddition[];
  readonly changes: readonly string[];
  readonly left: readonly string[];
}

const maxNamed = 20;
/** What the agent wrote from the node config. */
const agentHeader = '# Made by Imago';

export async function absorb(request: AbsorbRequest): Promise<Absorbed> {
  const { text, skip } = request;
  const diff = without(request.diff, new Set(skip));
  const found = [
    await packages({ ...request, diff }),
    images(request.recipe, diff),
    settings(request.recipe, diff),
    units(request.recipe, diff),
    await files({ ...request, diff }),
  ];
  return {
    text: addToYaml(
      text,
      found.flatMap(({ additions }) => additions),
    ),
    changes: found.flatMap(({ changes }) => changes),
    left: found.flatMap(({ left }) => left),
  };
}

function without(diff: InventoryDiff, skip: ReadonlySet<string>): InventoryDiff {
  const keep = <T>(changes: readonly Changed<T>[]) =>
    changes.filter(({ name }) => !skip.has(name) && !skip.has(name.replace(/:[^:]*$/, '')));
  const { packages: all, files: paths, units: names, settings: values, containerImages } = diff;
  return {
    ...{ ...diff, packages: keep(all), files: keep(paths), units: keep(names) },
    ...{ settings: keep(values), containerImages: keep(containerImages) },
  };
}

/** What the recipe has already is not said again, as when it absorbs the same version twice. */
function namesOf(items: readonly { readonly name: string }[] = []): ReadonlySet<string> {
  return new Set(items.map(({ name }) => name));
}

async function packages({ recipe, diff, independent }: AbsorbRequest): Promise<Found> {
  const added = diff.packages.flatMap(({ before, after }) => (before === undefined && after ? [after] : []));
  const newer = diff.packages.flatMap(({ before, after }) =>
    before && after && before.version !== after.version
      ? [`Package ${after.name}: ${before.version} → ${after.version}, in the lock`]
      : [],
  );
  const gone = diff.packages.flatMap(({ before, after }) => (before && !after ? [before.name] : []));
  const roots = await independent(added.map(({ name }) => name));
  const known = namesOf(recipe.packages);
  const named = added.filter(({ name }) => roots.has(name) && !known.has(name));
  return {
    additions: named.map(({ name }) => ({ path: ['packages'], value: name, append: true })),
    changes: [...named.map(({ name, version }) => `Package ${name} ${version}, in packages`), ...newer],
    left: gone.map((name) => `Package ${name} was removed on the node.`),
  };
}

/** An image is named by its digest, so that a build gets the one that the node had. */
function images({ images: items }: Recipe, { containerImages }: InventoryDiff): Found {
  const added = containerImages.flatMap(({ before, after }) =>
    before === undefined && after ? [after] : [],
  );
  const known = namesOf(items);
  const named = added.filter(({ name }) => !/^sha256:|@/.test(name) && !known.has(name));
  const moved = containerImages.flatMap(({ before, after }) => (before && after ? [after] : []));
  return {
    additions: named.map(({ name, digest, isPinned }) => ({
      path: ['images'],
      value: { name, from: { registry: name, digest }, ...(isPinned && { pinned: true }) },
      append: true,
    })),
    changes: named.map(({ name, digest }) => `Container image ${name} (${digest.slice(0, 19)}), in images`),
    left: moved.map(({ name, digest }) => `Container image ${name} is another one on the node: ${digest}.`),
  };
}

/** These follow from packages, from the disk, or from the machine. */
const derived = /^(?:system|kernel.*|initrd .*|release .*)$/;

function settings({ settings: known }: Recipe, diff: InventoryDiff): Found {
  const [additions, changes, left]: [YamlAddition[], string[], string[]] = [[], [], []];
  const modules = namesOf(known.modules);
  for (const { name, after } of diff.settings) {
    if (derived.test(name)) continue;
    const [kind = '', key = ''] = name.split(/ (.*)/s);
    if (kind === 'sysctl' && after !== undefined) {
      if (String(known.sysctl?.[key] ?? '') === after) continue;
      additions.push({ path: ['settings', 'sysctl', key], value: after, append: false });
      changes.push(`Kernel parameter ${key} = ${after}, in settings`);
    } else if (kind === 'module' && after !== undefined) {
      if (modules.has(key)) continue;
      additions.push({ path: ['settings', 'modules'], value: key, append: true });
      changes.push(`Kernel module ${key}, in settings`);
    } else left.push(`Setting ${name}${after === undefined ? ' was removed on the node' : ` is ${after}`}.`);
  }
  return { additions, changes, left };
}

/** Units whose files come with packages or files, and that were enabled, disabled, or masked by hand. */
function units({ settings: { units: known = [] } }: Recipe, diff: InventoryDiff): Found {
  const stateOf = new Map(known.map(({ name, state }) => [name, state]));
  const changed = diff.units
    .flatMap(({ before, after }) =>
      before && after && before.state !== after.state && states.has(after.state) ? [after] : [],
    )
    .filter(({ name, state }) => stateOf.get(name) !== state);
  return {
    additions: changed.map(({ name, state }) => ({
      path: ['settings', 'units'],
      value: { name, state },
      append: true,
    })),
    changes: changed.map(({ name, state }) => `Unit ${name} is ${state}, in settings`),
    left: [],
  };
}

const states: ReadonlySet<string> = new Set(['enabled', 'disabled', 'masked']);

/** Where people and their tools put files. Elsewhere is what packages, programs, and containers wrote. */
const ours = /^\/(?:etc|usr\/local|opt)\//;
/** What packages make of other files, what other additions say, and what belongs to one machine. */
const notOurs =
  /^\/etc\/(?:(?:passwd|group|g?shadow|subuid|subgid)-?|ld\.so\.cache|resolv\.conf|hostname|hosts|machine-id|adjtime|mtab|fstab|imago.*|alternatives\/.*|ssl\/certs\/.*|sysctl\.d\/.*|modules-load\.d\/.*|apt\/.*|dpkg\/.*|kubernetes\/.*|cni\/net\.d\/.*|.*\.dpkg-.*)$/;

async function files({ recipe, diff, texts }: AbsorbRequest): Promise<Found> {
  const known = new Map((recipe.settings.files ?? []).map(({ path, content }) => [path, content]));
  const changed = diff.files.flatMap(({ before, after, fields }) =>
    after !== undefined && isOurs(after) && (before === undefined || fields.includes('sha256'))
      ? [after]
      : [],
  );
  const contents = await texts(changed.map(({ path }) => path));
  const [additions, changes, left]: [YamlAddition[], string[], string[]] = [[], [], []];
  for (const { path, mode, uid, gid } of changed) {
    const content = contents.get(path);
    if (content?.startsWith(agentHeader)) continue;
    if (content !== undefined && content === known.get(path)) continue;
    // A recipe is committed, where more people read it than on the node.
    if ((mode & 0o004) === 0) {
      left.push(`File ${path} can hold a secret: not everyone can read it.`);
      continue;
    }
    if (content === undefined || uid !== 0 || gid !== 0) {
      left.push(`File ${path} is ${content === undefined ? 'not a short text' : `owned by ${uid}:${gid}`}.`);
      continue;
    }
    const bits = (mode & 0o7777).toString(8).padStart(4, '0');
    const value = { path, content, ...(bits !== '0644' && { mode: bits }) };
    additions.push({ path: ['settings', 'files'], value, append: true });
    changes.push(`File ${path}, in settings`);
  }
  const more = left.length - maxNamed;
  return { additions, changes, left: more > 0 ? [...left.slice(0, maxNamed), `${more} other files.`] : left };
}

function isOurs({ path, type, package: owner }: InventoryFile): boolean {
  return type === 'file' && owner === undefined && ours.test(path) && !notOurs.test(path);
}
