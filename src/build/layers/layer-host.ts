// The host that a layer in the making is: what is put on it becomes entries of the layer, and what is read comes
// from the layers below. Nothing is unpacked anywhere.

import { normalisePath } from '../../disk/tar/entry.ts';
import { streamInput } from '../../disk/tar/input.ts';
import type { MergedTree } from '../../disk/tar/merged-tree.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { type TarItem, tarEntry, tarFile } from '../../disk/tar/writer.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { FileOptions, Host, HostInput, UnpackOptions } from '../../install/host.ts';
import { hexOf } from '../../oci/layout/digest.ts';
import { parseManifest } from '../../oci/layout/manifest.ts';
import { annotationKeys } from '../../oci/layout/media-types.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import { archiveRules, isArchive } from '../inputs/archive-rules.ts';
import { unpack } from '../inputs/unpack.ts';

export interface LayerHost extends Host {
  /** Everything that was put here, in order: the entries of the layer. Can be asked for again. */
  items(): AsyncGenerator<TarItem>;
}

export interface LayerHostOptions {
  readonly inputs: ContentFolder;
  readonly epoch: number;
  /** The layers below; nothing when absent. */
  readonly lower?: MergedTree;
  readonly signal?: AbortSignal | undefined;
}

type Piece = () => AsyncIterable<TarItem> | Iterable<TarItem>;

const maxText = 16 * 1024 * 1024;

export function layerHost(options: LayerHostOptions): LayerHost {
  const { inputs, epoch, lower } = options;
  const pieces: Piece[] = [];
  const texts = new Map<string, string>();
  const links = new Map<string, string>();
  const removed = new Set<string>();
  let linksBelow: ReadonlyMap<string, string> | undefined;

  function change(path: string, piece: Piece): void {
    removed.delete(path);
    texts.delete(path);
    links.delete(path);
    pieces.push(piece);
  }

  async function open(input: HostInput): Promise<AsyncIterable<Uint8Array>> {
    const stored = await inputs.find(input.sha256);
    if (stored !== undefined) return inputs.read(stored);
    throw new ImagoError('input-missing', `${input.name} ${input.version} is no longer in the cache.`);
  }

  async function* archive(
    content: AsyncIterable<Uint8Array>,
    folder: string,
    { strip = 0, only }: UnpackOptions,
  ) {
    const reader = streamInput(unpack(content, options.signal));
    const keep = (path: string) =>
      only === undefined ||
      only.some((name) => path === name || path.startsWith(`${name.replace(/\/+$/, '')}/`));
    try {
      for await (const record of readTar(reader, archiveRules)) {
        const path = record.entry.path.split('/').slice(strip).join('/');
        if (path === '' || !keep(path)) continue;
        const { type } = record.entry;
        const link =
          type === 'hardlink'
            ? placed(folder, record.entry.link.split('/').slice(strip).join('/'))
            : record.entry.link;
        const entry = {
          ...record.entry,
          ...{
            path: placed(folder, path),
            link,
            uid: 0,
            gid: 0,
            mtime: Math.min(record.entry.mtime, epoch),
            xattrs: new Map(),
          },
        };
        yield type === 'file' ? { entry, content: record.content() } : { entry };
      }
    } finally {
      await reader.close();
    }
  }

  async function* artifact(input: HostInput, folder: string, mode: number): AsyncGenerator<TarItem> {
    const manifest = parseManifest(await readWhole(await open(input)), input.name);
    for (const layer of manifest.layers) {
      const part = { ...input, sha256: hexOf(layer.digest) };
      const title = normalisePath(layer.annotations?.[annotationKeys.title] ?? '', 'refuse');
      if (await isUnpacked(layer.mediaType, title, part)) {
        yield* archive(await open(part), folder, {});
        continue;
      }
      if (title === '')
        throw new ImagoError('tar-unsafe', `A part of the artifact ${input.name} has no title.`);
      yield {
        entry: tarEntry(placed(folder, title), { size: layer.size, mode, mtime: epoch }),
        content: await open(part),
      };
    }
  }

  /** A file that is pushed without a type gets that of an archive: then the bytes decide. */
  async function isUnpacked(mediaType: string, title: string, part: HostInput): Promise<boolean> {
    if (!/[./+]tar(?:[.+]|$)/.test(mediaType)) return false;
    return title === '' || isArchive(await open(part));
  }

  return {
    async readText(path) {
      if (removed.has(path)) return undefined;
      const own = texts.get(path);
      if (own !== undefined) return own;
      return (await lower?.read(inside(path), maxText))?.toString('utf8');
    },
    async list(path) {
      const prefix = `${path}/`;
      const own = [...texts.keys(), ...links.keys()].filter((name) => name.startsWith(prefix));
      const below = lower?.list(inside(path)) ?? [];
      const names = new Set([...below, ...own.map((name) => name.slice(prefix.length).split('/')[0] ?? '')]);
      return [...names].filter((name) => !removed.has(prefix + name)).sort();
    },
    async readLink(path) {
      if (removed.has(path)) return undefined;
      linksBelow ??= symlinksOf(lower);
      return links.get(path) ?? linksBelow.get(inside(path));
    },
    async writeText(path, text, file = {}) {
      change(path, () => [tarFile(inside(path), text, fileEntry(file, epoch))]);
      texts.set(path, text);
    },
    async makeFolder(path, file = {}) {
      const entry = tarEntry(inside(path), {
        ...fileEntry({ mode: 0o755, ...file }, epoch),
        type: 'directory',
      });
      pieces.push(() => [{ entry }]);
    },
    async link(path, target) {
      change(path, () => [
        { entry: tarEntry(inside(path), { type: 'symlink', link: target, mtime: epoch }) },
      ]);
      links.set(path, target);
    },
    async remove(path) {
      const parts = inside(path).split('/');
      const name = parts.pop() ?? '';
      change(path, () => [{ entry: tarEntry([...parts, `.wh.${name}`].join('/'), { mtime: epoch }) }]);
      removed.add(path);
    },
    async placeFile(input, path, mode) {
      change(path, async function* () {
        yield {
          entry: tarEntry(inside(path), { size: input.sizeBytes, mode, mtime: epoch }),
          content: await open(input),
        };
      });
    },
    async unpackArchive(input, folder, unpackOptions) {
      pieces.push(async function* () {
        yield* archive(await open(input), folder, unpackOptions);
      });
    },
    async unpackArtifact(input, folder, mode) {
      pieces.push(() => artifact(input, folder, mode));
    },
    async *items() {
      for (const piece of pieces) yield* piece();
    },
  };
}

function fileEntry({ mode = 0o644, uid = 0, gid = 0 }: FileOptions, mtime: number) {
  return { mode, uid, gid, mtime };
}

/** As a path in an archive. */
function inside(path: string): string {
  return normalisePath(path, 'strip');
}

function placed(folder: string, path: string): string {
  return inside(`${folder}/${path}`);
}

function symlinksOf(tree: MergedTree | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { type, path, link } of tree?.entries() ?? []) if (type === 'symlink') found.set(path, link);
  return found;
}

async function readWhole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > maxText) throw new ImagoError('tar-limit', 'a manifest is too large to be true');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
