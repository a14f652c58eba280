// Turns a file tree that package tools left behind into the entries of a layer: without what belongs to one
// machine or one moment, with one time for everything younger, and, above another layer, only what differs.
import type { MergedTree } from '../../images/merged-tree.ts';
import type { TarEntry } from '../../images/tar-entry.ts';
import { streamInput } from '../../images/tar-input.ts';
import { readTar } from '../../images/tar-reader.ts';
import { type TarItem, tarEntry } from '../../images/tar-writer.ts';
import { emptied, staysWithin } from './volatile-paths.ts';

export interface CaptureOptions {
  /** The tree as a tar archive: by name, with extended attributes. */
  readonly archive: AsyncIterable<Uint8Array>;
  /** `upper` is the upper folder of an overlay mount, `whole` all that there is. */
  readonly shows: 'whole' | 'upper';
  /** The layers below, if any. */
  readonly lower?: MergedTree | undefined;
  readonly epoch: number;
  /** Seconds since 1970: what is younger was made by this build, whatever the clock says. */
  readonly startedAt: number;
}

const limits = { maxEntries: 2_000_000, maxBytes: 256 * 1024 ** 3 };
const opaque = 'user.overlay.opaque';
const maxCompared = 256 * 1024 * 1024;

export async function* captureTree(options: CaptureOptions): AsyncGenerator<TarItem> {
  const { lower, shows } = options;
  const seen = new Set<string>();
  const input = streamInput(options.archive);
  for await (const record of readTar(input, { ...limits, devices: 'allow' })) {
    const { entry } = record;
    if (entry.path === '' || !staysWithin(entry)) continue;
    if (shows === 'upper' && isWhiteout(entry)) {
      yield { entry: tarEntry(whiteoutPath(entry.path), { mtime: options.epoch }) };
      continue;
    }
    if (entry.type === 'character' || entry.type === 'block') continue;
    seen.add(entry.path);
    const clean = cleanEntry(entry, options);
    if (emptied.has(entry.path)) {
      yield { entry: { ...clean, size: 0 } };
      continue;
    }
    if (clean.type === 'directory' && entry.xattrs.get(opaque)?.toString() === 'y') {
      yield { entry: clean };
      yield { entry: tarEntry(`${entry.path}/.wh..wh..opq`, { mtime: options.epoch }) };
      continue;
    }
    const same = lower === undefined ? undefined : sameBelow(lower, clean);
    if (same === undefined) yield withContent(clean, record.content());
    else if (clean.type === 'file' && clean.size > 0) {
      const bytes = await readAll(record.content());
      if (!(await lower?.read(entry.path, maxCompared))?.equals(bytes))
        yield { entry: clean, content: bytes };
    }
  }
  await input.close();
  if (lower !== undefined && shows === 'whole') yield* takenAway(lower, seen, options.epoch);
}

function isWhiteout({ type, device }: TarEntry): boolean {
  return type === 'character' && device?.major === 0 && device.minor === 0;
}

function whiteoutPath(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  return `${path.slice(0, at)}.wh.${path.slice(at)}`;
}

function cleanEntry(entry: TarEntry, { epoch, startedAt }: CaptureOptions): TarEntry {
  const young = entry.type === 'directory' || entry.mtime > epoch || entry.mtime >= startedAt;
  const capability = entry.xattrs.get('security.capability');
  return {
    ...entry,
    mtime: young ? epoch : entry.mtime,
    xattrs: new Map(capability === undefined ? [] : [['security.capability', capability]]),
  };
}

function withContent(entry: TarEntry, content: AsyncIterable<Uint8Array>): TarItem {
  return entry.type === 'file' ? { entry, content } : { entry };
}

/** The entry below, if nothing but perhaps its content differs. */
function sameBelow(lower: MergedTree, entry: TarEntry): TarEntry | undefined {
  const parent = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/')));
  if (parent !== '' && lower.find(parent)?.path !== parent) return undefined;
  const below = lower.find(entry.path);
  if (below === undefined || below.path !== entry.path || entry.type === 'hardlink') return undefined;
  const same = (['type', 'mode', 'uid', 'gid', 'mtime', 'size', 'link'] as const).every(
    (key) => below[key] === entry[key],
  );
  const capability = (one: TarEntry) => one.xattrs.get('security.capability')?.toString('hex');
  return same && capability(below) === capability(entry) ? below : undefined;
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** A whiteout for each topmost path that is gone. */
function* takenAway(lower: MergedTree, seen: ReadonlySet<string>, epoch: number): Generator<TarItem> {
  const gone = new Set<string>();
  for (const entry of lower.entries()) {
    if (entry.path === '' || seen.has(entry.path) || !staysWithin(entry)) continue;
    const parent = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/')));
    if (!gone.has(parent)) yield { entry: tarEntry(whiteoutPath(entry.path), { mtime: epoch }) };
    gone.add(entry.path);
  }
}
