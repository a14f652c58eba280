// The file tree that layers add up to while they are merged: names, what they refer to, and which
// layer put them there. Pure bookkeeping; the bytes stay in the layers.
import type { TarEntry } from './entry.ts';
import { tarInvalid } from './entry.ts';

export interface LayerFile {
  /** The file that the name refers to; hard links share one object. */
  readonly entry: TarEntry;
  /** The layer that holds the content, and where in it. */
  readonly layer: number;
  readonly offset: number;
}

export interface TreeNode {
  readonly name: string;
  readonly parent: TreeNode | undefined;
  /** Replaced when a later layer says otherwise. */
  file: LayerFile;
  /** The layer with whose files this name is placed on the disk. */
  rank: number;
  readonly children: Map<string, TreeNode>;
}

const maxLinks = 40;

export function isDirectory(node: TreeNode): boolean {
  return node.file.entry.type === 'directory';
}

export function pathOf(node: TreeNode): string {
  const names: string[] = [];
  for (let at: TreeNode | undefined = node; at?.parent !== undefined; at = at.parent) names.unshift(at.name);
  return names.join('/');
}

export function setChild(parent: TreeNode, name: string, file: LayerFile, rank: number): TreeNode {
  const node: TreeNode = { name, parent, file, rank, children: new Map() };
  parent.children.set(name, node);
  return node;
}

/**
 * Follows a path through symlinks, all inside of the tree. Where a folder is missing `make` is asked for
 * one; without `make`, or when the path runs through a file, the answer is undefined.
 */
export function walk(
  root: TreeNode,
  path: string,
  make?: (parent: TreeNode, name: string) => TreeNode,
): TreeNode | undefined {
  const left = path.split('/').filter((part) => part !== '' && part !== '.');
  let node = root;
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (!isDirectory(node)) return undefined;
    if (name === '..') {
      node = node.parent ?? root;
      continue;
    }
    const next = node.children.get(name) ?? make?.(node, name);
    if (next === undefined) return undefined;
    if (next.file.entry.type !== 'symlink') {
      node = next;
      continue;
    }
    if (++links > maxLinks) throw tarInvalid(`the links at ${pathOf(next)} go round in a circle`);
    const target = next.file.entry.link;
    if (target.startsWith('/')) node = root;
    left.unshift(...target.split('/').filter((part) => part !== '' && part !== '.'));
  }
  return node;
}

/** All nodes, parents before children, by name. */
export function* nodesInOrder(node: TreeNode): Generator<TreeNode> {
  yield node;
  const names = [...node.children.keys()].sort();
  for (const name of names) {
    const child = node.children.get(name);
    if (child !== undefined) yield* nodesInOrder(child);
  }
}
