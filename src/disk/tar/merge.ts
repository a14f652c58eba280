// Merges layers, each a tar archive, into one file tree and one canonical archive: the last layer wins,
// whiteouts remove, and each layer's own files stay together in the order of the layers, so that a
// changed layer near the end leaves all that stands before it on the disk as it was.

import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ByteSource } from '../bytes/byte-source.ts';
import { type TarEntry, tarInvalid } from './entry.ts';
import { sourceInput } from './input.ts';
import { isDirectory, type LayerFile, pathOf, setChild, type TreeNode, walk } from './layer-tree.ts';
import { type MergedTree, mergedTree } from './merged-tree.ts';
import { readTar, type TarReadOptions } from './reader.ts';
import { tarEntry } from './writer.ts';

export interface Layer {
  /** Said in errors. */
  readonly name: string;
  /** An uncompressed tar archive. Must stay open as long as the merged tree is used. */
  readonly source: ByteSource;
  /** What `indexLayer` found in it before, with the same options: its headers are then not read again. */
  readonly index?: readonly IndexedFile[] | undefined;
}

/** An entry of an archive, and where its content begins. */
export type IndexedFile = Omit<LayerFile, 'layer'>;

export interface MergeOptions extends TarReadOptions {
  /** Times after this one are set back to it; folders that no layer has get it. */
  readonly epoch: number;
  readonly signal?: AbortSignal | undefined;
}

const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

/**
 * Reads the headers of all layers and returns what they add up to. Limits count for all layers
 * together. A folder over a symlink to a folder keeps the symlink, as dpkg does (merged /usr); to
 * replace it a layer removes it first, by a whiteout or an opaque folder.
 */
export async function mergeLayers(layers: readonly Layer[], options: MergeOptions): Promise<MergedTree> {
  const directory = (path: string) => tarEntry(path, { type: 'directory', mtime: options.epoch });
  const root: TreeNode = {
    name: '',
    parent: undefined,
    file: { entry: directory(''), layer: -1, offset: 0 },
    rank: 0,
    children: new Map(),
  };
  let maxEntries = options.maxEntries;
  let maxBytes = options.maxBytes;
  for (const [rank, layer] of layers.entries()) {
    const index = layer.index ?? (await indexLayer(layer, { ...options, maxEntries, maxBytes }));
    const files = index.map((file): LayerFile => ({ ...file, layer: rank }));
    maxEntries -= files.length;
    maxBytes -= files.reduce((sum, { entry }) => sum + entry.size, 0);
    try {
      applyLayer(root, files, rank, directory);
    } catch (error) {
      throw inLayer(layer, error);
    }
  }
  return mergedTree(
    root,
    layers.map((layer) => layer.source),
  );
}

/** Says in which layer an archive is at fault; other errors stay what they were. */
function inLayer(layer: Layer, error: unknown): unknown {
  if (!(error instanceof ImagoError) || error.kind !== 'input') return error;
  return new ImagoError(error.code, `layer ${layer.name}: ${error.message}`, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    cause: error,
  });
}

/** Reads the headers of one layer. */
export async function indexLayer(
  layer: Omit<Layer, 'index'>,
  options: MergeOptions,
): Promise<readonly IndexedFile[]> {
  const files: IndexedFile[] = [];
  try {
    for await (const { entry, offset } of readTar(sourceInput(layer.source), options)) {
      throwIfAborted(options.signal);
      const mtime = Math.min(entry.mtime, options.epoch);
      files.push({ entry: { ...entry, mtime }, offset });
    }
  } catch (error) {
    throw inLayer(layer, error);
  }
  return files;
}

function splitLast(path: string): { folder: string; name: string } {
  const at = path.lastIndexOf('/');
  return { folder: at < 0 ? '' : path.slice(0, at), name: path.slice(at + 1) };
}

function applyLayer(
  root: TreeNode,
  files: readonly LayerFile[],
  rank: number,
  directory: (path: string) => TarEntry,
): void {
  const isWhiteout = ({ entry }: LayerFile) => splitLast(entry.path).name.startsWith(whiteout);
  for (const { entry } of files.filter(isWhiteout)) takeAway(root, entry.path);
  for (const file of files) {
    if (!isWhiteout(file)) put(root, file, rank, directory);
  }
}

function takeAway(root: TreeNode, path: string): void {
  const { folder, name } = splitLast(path);
  if (name === opaque) {
    clearFolder(root, folder);
    return;
  }
  if (name.startsWith('.wh..wh.')) return;
  const target = name.slice(whiteout.length);
  if (target === '' || target === '.' || target === '..')
    throw tarInvalid(`the whiteout ${path} names nothing`);
  walk(root, folder)?.children.delete(target);
}

/** An opaque folder hides what lower layers have under its name; a symlink there goes, and not its target. */
function clearFolder(root: TreeNode, path: string): void {
  if (path === '') {
    root.children.clear();
    return;
  }
  const { folder, name } = splitLast(path);
  const parent = walk(root, folder);
  const present = parent?.children.get(name);
  if (present?.file.entry.type === 'symlink') parent?.children.delete(name);
  else present?.children.clear();
}

function put(root: TreeNode, file: LayerFile, rank: number, directory: (path: string) => TarEntry): void {
  const { entry } = file;
  if (entry.path === '') {
    root.file = file;
    return;
  }
  const { folder, name } = splitLast(entry.path);
  const parent = walk(root, folder, (above, missing) => {
    const path = `${pathOf(above)}/${missing}`;
    return setChild(above, missing, { entry: directory(path), layer: rank, offset: 0 }, rank);
  });
  if (parent === undefined || !isDirectory(parent)) {
    throw tarInvalid(`${entry.path} lies below something that is not a folder`);
  }
  const present = parent.children.get(name);
  if (entry.type === 'hardlink') {
    putHardLink(root, parent, file, rank);
    return;
  }
  if (present === undefined) {
    setChild(parent, name, file, rank);
    return;
  }
  if (entry.type === 'directory') putDirectory(root, parent, present, file, rank);
  else if (!sameSymlink(present.file.entry, entry)) setChild(parent, name, file, rank);
}

function putHardLink(root: TreeNode, parent: TreeNode, file: LayerFile, rank: number): void {
  const { entry } = file;
  const { folder, name } = splitLast(entry.link);
  const target = walk(root, folder)?.children.get(name);
  if (target === undefined || isDirectory(target)) {
    throw tarInvalid(`the hard link ${entry.path} leads to ${entry.link}, which is not there`);
  }
  const own = splitLast(entry.path).name;
  if (parent.children.get(own)?.file !== target.file) setChild(parent, own, target.file, rank);
}

function putDirectory(
  root: TreeNode,
  parent: TreeNode,
  present: TreeNode,
  file: LayerFile,
  rank: number,
): void {
  if (isDirectory(present)) {
    present.file = file;
    return;
  }
  if (present.file.entry.type === 'symlink') {
    const target = walk(root, pathOf(present));
    if (target !== undefined && isDirectory(target)) return;
  }
  setChild(parent, present.name, file, rank);
}

function sameSymlink(a: TarEntry, b: TarEntry): boolean {
  return (
    a.type === 'symlink' && b.type === 'symlink' && a.link === b.link && a.uid === b.uid && a.gid === b.gid
  );
}
