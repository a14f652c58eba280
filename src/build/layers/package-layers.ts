// The layers that package tools make, one over the other: base system, packages, trust anchors. Each is installed
// over the trees of those below, and what it changed becomes its archive.
import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type LockedInput, packagesIn } from '../../domain/lock/lock.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
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
import { textReader } from './text-reader.ts';

/** A layer of the stack whose archive may still be on its way. */
export interface StackedLayer {
  readonly layer: PlannedLayer;
  readonly open: Promise<OpenLayer>;
}

export interface PackageLayers {
  /** Writes the archive of a layer that stands on those below. */
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
    await withTree(opened, context, async (tree) => {
      const run = { what: 'Unpacking the layers below', script: unpackScript, args: [folder], signal };
      await sandbox.run({ ...run, stdin: tree.stream(signal) });
    });
    return folder;
  }

  async function install(
    layer: PlannedLayer,
    below: readonly StackedLayer[],
    folder: string,
  ): Promise<boolean> {
    const overlay = await context.overlay();
    if (existsSync(folder)) await sandbox.remove(folder);
    await mkdir(folder);
    const log = (line: string) => context.log(layer.name, line);
    const common = { env: installEnvironment, signal, log };
    const args = [folder, overlay ? 'overlay' : 'plain', inputs.folder];
    if (layer.kind === 'base') {
      const essential = packagesIn(lock, 'essential');
      const others = packagesIn(lock, 'base').filter((input) => !essential.includes(input));
      const packages = [storePaths(essential), storePaths(others)];
      const what = 'Installing the base system';
      await sandbox.run({ ...common, what, script: baseScript, args: [...args, ...packages] });
      return overlay;
    }
    const names: string[] = [];
    if (overlay) {
      for (const [number, tree] of (await treesBelow(below)).entries()) {
        names.push(`l${number}`);
        await symlink(tree, join(folder, `l${number}`));
      }
    } else await unpackTree(below, join(folder, 'tree'));
    const lowers = names.join(':');
    if (layer.kind === 'trust') {
      const what = 'Adding trust anchors';
      await sandbox.run({ ...common, what, script: trustScript, args: [...args, await anchors(), lowers] });
    } else {
      const what = `Installing ${layer.name}`;
      const packages = storePaths(layer.packages ?? []);
      await sandbox.run({ ...common, what, script: packagesScript, args: [...args, packages, lowers] });
    }
    return overlay;
  }

  /** Certificates are taken in as inputs, so that the script finds them in the store. */
  async function anchors(): Promise<string> {
    const text = textReader(inputs, lock);
    const pairs: string[] = [];
    for (const anchor of expandOne(lock.recipe).settings.trust ?? []) {
      const { sha256 } = await inputs.addBytes(Buffer.from(await text(anchor)));
      pairs.push(`${anchor.name}=${sha256.slice(0, 2)}/${sha256}`);
    }
    return pairs.join(' ');
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
        args: [tree],
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

/** The tree becomes what its archive says, so that it does not matter which of the two the next layer stands on. */
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
  const run = { what: 'Cleaning what was installed', script, args: [tree], signal: context.signal };
  await context.sandbox.run({ ...run, stdin: list() });
}

function storePaths(inputs: readonly LockedInput[]): string {
  return inputs.map(({ sha256 }) => `${sha256.slice(0, 2)}/${sha256}`).join(' ');
}
