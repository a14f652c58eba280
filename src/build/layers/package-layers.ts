// The layers that package tools make, one over the other: base system, packages, trust anchors. Each is installed
// over the trees of those below, and what it changed becomes its archive.
import { existsSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LockedInput, packagesIn } from '../../domain/lock/lock.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { belowMount } from '../sandbox/stages.ts';
import { textReader } from './bake-component.ts';
import type { OpenLayer } from './cache.ts';
import { captureTree } from './capture-tree.ts';
import type { LayerContext } from './context.ts';
import {
  archiveScript,
  baseScript,
  emptyScript,
  installEnvironment,
  packagesScript,
  removeScript,
  trustScript,
  unpackScript,
} from './install-packages.ts';
import { withTree, writeItems } from './own-layers.ts';
import { LayerIndex } from './path-index.ts';
import type { PlannedLayer } from './plan.ts';

/** Beside the tree of a layer: the trees that it is made over, the topmost first. */
export const belowFile = 'below.json';

/** A layer of the stack whose archive may still be on its way. */
export interface StackedLayer {
  readonly layer: PlannedLayer;
  readonly open: Promise<OpenLayer>;
}

export interface PackageLayers {
  /** Writes the archive of a layer that depends on those below. */
  make(layer: PlannedLayer, below: readonly StackedLayer[], path: string): Promise<void>;
  /** Keeps the trees that were made for the next build. */
  keepTrees(): Promise<void>;
}

export function packageLayers(context: LayerContext): PackageLayers {
  const { sandbox, signal, inputs, lock } = context;
  const made = new Map<string, string>();
  const unpacked = new Map<string, Promise<string>>();

  /** The folders below, topmost first: kept trees as far as there are any, the rest unpacked as one. */
  async function treesBelow(below: readonly StackedLayer[]): Promise<readonly string[]> {
    const trees: string[] = [];
    for (let at = below.length - 1; at >= 0; at -= 1) {
      const key = below[at]?.layer.key ?? '';
      const tree = made.get(key) ?? (await context.trees.find(key));
      if (tree !== undefined) trees.push(tree);
      else {
        const rest =
          unpacked.get(key) ?? unpackTree(below.slice(0, at + 1), join(context.folder, `lower-${at}`));
        unpacked.set(key, rest);
        trees.push(await rest);
        break;
      }
    }
    return trees;
  }

  async function unpackTree(layers: readonly StackedLayer[], folder: string): Promise<string> {
    const opened = await Promise.all(layers.map(({ open }) => open));
    await openFolder(folder);
    await withTree(opened, context, async (tree) => {
      const run = { what: 'Unpacking the layers below', script: unpackScript, folder, signal };
      await sandbox.run({ ...run, stdin: tree.stream(signal) });
    });
    return join(folder, 'tree');
  }

  async function install(
    layer: PlannedLayer,
    lower: readonly StackedLayer[],
    folder: string,
  ): Promise<boolean> {
    const overlay = await context.overlay();
    if (existsSync(folder)) await sandbox.remove(folder);
    await openFolder(folder);
    const below = overlay ? await treesBelow(lower) : [];
    await writeFile(join(folder, belowFile), JSON.stringify(below));
    const { what, script, inputs: names, words } = await jobOf(layer);
    await linkInputs(names, join(folder, 'inputs'));
    if (!overlay && lower.length > 0) await unpackTree(lower, folder);
    const lowers = below.map((_, index) => belowMount(index)).join(':');
    const args = [overlay ? 'overlay' : 'plain', ...words, lowers];
    const log = (line: string) => context.log(layer.name, line);
    const run = { what, script, args, folder, below, env: installEnvironment, runsPackages: true };
    await sandbox.run({ ...run, signal, log });
    return overlay;
  }

  interface Job {
    readonly what: string;
    readonly script: string;
    /** What packages can read, each by its sha256. */
    readonly inputs: readonly string[];
    readonly words: readonly string[];
  }

  async function jobOf(layer: PlannedLayer): Promise<Job> {
    if (layer.kind === 'base') {
      const essential = namesOf(packagesIn(lock, 'essential'));
      const all = namesOf(packagesIn(lock, 'base'));
      const others = all.filter((name) => !essential.includes(name));
      const words = [essential.join(' '), others.join(' ')];
      return { what: 'Installing the base system', script: baseScript, inputs: all, words };
    }
    if (layer.kind === 'trust') {
      const pairs = await anchors();
      const words = [pairs.map(([name, sha256]) => `${name}=${sha256}`).join(' ')];
      const names = pairs.map(([, sha256]) => sha256);
      return { what: 'Adding trust anchors', script: trustScript, inputs: names, words };
    }
    const names = namesOf(layer.packages ?? []);
    const what = `Installing ${layer.name}`;
    return { what, script: packagesScript, inputs: names, words: [names.join(' ')] };
  }

  /** As links: nothing else of the store can be seen from inside. */
  async function linkInputs(names: readonly string[], folder: string): Promise<void> {
    await openFolder(folder);
    for (const name of names) {
      const path = inputs.path(name);
      const { mode } = await stat(path);
      if ((mode & 0o444) !== 0o444) await chmod(path, 0o644);
      await link(path, join(folder, name)).catch(() => copyFile(path, join(folder, name)));
    }
  }

  /** Certificates are taken in as inputs, so that the script finds them there. */
  async function anchors(): Promise<readonly (readonly [name: string, sha256: string])[]> {
    const text = textReader(inputs, lock);
    const pairs: [string, string][] = [];
    for (const anchor of expandOne(lock.recipe).settings.trust ?? []) {
      const { sha256 } = await inputs.addBytes(Buffer.from(await text(anchor)));
      pairs.push([anchor.name, sha256]);
    }
    return pairs;
  }

  async function indexOf(below: readonly StackedLayer[]): Promise<LayerIndex | undefined> {
    if (below.length === 0) return undefined;
    const index = new LayerIndex();
    for (const { open } of below) await index.add((await open).path, signal);
    return index;
  }

  return {
    async make(layer, below, path) {
      const folder = join(context.folder, `made-${below.length}`);
      const overlay = await install(layer, below, folder);
      const tree = join(folder, 'tree');
      const removed: string[] = [];
      const emptied: string[] = [];
      const archive = sandbox.stream({
        what: 'Reading what was installed',
        script: archiveScript,
        folder: tree,
        signal,
      });
      const items = captureTree({
        ...{ archive, lower: await indexOf(below), epoch: lock.epoch, startedAt: context.startedAt },
        shows: overlay && below.length > 0 ? 'upper' : 'whole',
        onVolatile: (name, what) => (what === 'remove' ? removed : emptied).push(name),
      });
      await writeItems(items, path);
      if (!overlay) return;
      await scrub(context, tree, removed, removeScript);
      await scrub(context, tree, emptied, emptyScript);
      made.set(layer.key, tree);
    },
    async keepTrees() {
      for (const [key, tree] of made) await context.trees.keep(key, tree);
    },
  };
}

/** The tree becomes what its archive says, so that the next layer can be made over either. */
async function scrub(
  context: LayerContext,
  tree: string,
  paths: readonly string[],
  script: string,
): Promise<void> {
  if (paths.length === 0) return;
  async function* list() {
    yield Buffer.from(paths.map((path) => `${path}\0`).join(''));
  }
  const run = { what: 'Cleaning what was installed', script, folder: tree, signal: context.signal };
  await context.sandbox.run({ ...run, stdin: list() });
}

function namesOf(inputs: readonly LockedInput[]): readonly string[] {
  return inputs.map(({ sha256 }) => sha256);
}

/** Whatever the umask: the sandbox has ids of its own. */
async function openFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}
