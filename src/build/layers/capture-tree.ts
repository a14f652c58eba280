// Turns a file tree that package tools left behind into the entries of a layer: without what belongs to one
// machine or one moment, with one time for everything younger, and, above other layers, only what differs.
import type { TarEntry } from '../../disk/tar/entry.ts';
import { streamInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { type TarItem, tarEntry } from '../../disk/tar/writer.ts';
import { ownLayerRules } from './own-layers.ts';
import type { LayerIndex } from './path-index.ts';

export interface CaptureOptions {
  /** The tree as a tar archive: by name, with extended attributes. */
  readonly archive: AsyncIterable<Uint8Array>;
  /** `upper` is the upper folder of an overlay mount, `whole` all that there is. */
  readonly shows: 'whole' | 'upper';
  /** The layers below, if any. */
  readonly lower?: LayerIndex | undefined;
  readonly epoch: number;
  /** Seconds since 1970: what is younger was made by this build, whatever the clock says. */
  readonly startedAt: number;
  /** Called with each path of the tree that is omitted, and each that must be empty. */
  readonly onVolatile?: (path: string, what: 'remove' | 'empty') => void;
}

const opaque = 'user.overlay.opaque';

export async function* captureTree(options: CaptureOptions): AsyncGenerator<TarItem> {
  const { lower, shows, epoch } = options;
  const seen = new Set<string>();
  const input = streamInput(options.archive);
  for await (const record of readTar(input, ownLayerRules)) {
    const { entry } = record;
    if (entry.path === '') continue;
    if (!staysWithin(entry)) {
      options.onVolatile?.(entry.path, 'remove');
      continue;
    }
    if (shows === 'upper' && isWhiteout(entry)) {
      yield { entry: tarEntry(whiteoutPath(entry.path), { mtime: epoch }) };
      continue;
    }
    if (entry.type === 'character' || entry.type === 'block') continue;
    seen.add(entry.path);
    const empty = emptied.has(entry.path) && entry.size > 0;
    if (empty) options.onVolatile?.(entry.path, 'empty');
    const clean = cleanEntry(entry, options);
    if (clean.type === 'directory' && entry.xattrs.get(opaque)?.toString() === 'y') {
      yield { entry: clean };
      yield { entry: tarEntry(`${entry.path}/.wh..wh..opq`, { mtime: epoch }) };
    } else if (lower?.hasLike(clean) !== true) {
      yield clean.type === 'file' && clean.size > 0
        ? { entry: clean, content: record.content() }
        : { entry: clean };
    } else if (clean.type === 'file' && clean.size > 0) {
      const content = await readAll(record.content());
      if (!(await lower.hasContent(entry.path, content))) yield { entry: clean, content };
    }
  }
  await input.close();
  if (lower !== undefined && shows === 'whole') yield* takenAway(lower, seen, epoch);
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
    ...(emptied.has(entry.path) && { size: 0 }),
    mtime: young ? epoch : entry.mtime,
    xattrs: new Map(capability === undefined ? [] : [['security.capability', capability]]),
  };
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** A whiteout for each topmost path that is gone. */
function* takenAway(lower: LayerIndex, seen: ReadonlySet<string>, epoch: number): Generator<TarItem> {
  const gone = new Set<string>();
  for (const path of [...lower.paths()].sort()) {
    if (seen.has(path)) continue;
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (!gone.has(parent)) yield { entry: tarEntry(whiteoutPath(path), { mtime: epoch }) };
    gone.add(path);
  }
}

/** Files that must exist and be empty: systemd fills them at the first start. */
const emptied: ReadonlySet<string> = new Set(['etc/machine-id']);

const dropped: readonly RegExp[] = [
  /^(?:dev|proc|sys|run|tmp|imago-inputs)\/./,
  /^imago-inputs$/,
  /^var\/(?:tmp|log|cache\/apt|lib\/apt\/lists)\/./,
  /^var\/cache\/(?:debconf\/.*-old|ldconfig\/aux-cache)$/,
  /^var\/lib\/dpkg\/(?:.*-old|lock|lock-frontend|triggers\/Lock|updates\/.*)$/,
  /^var\/lib\/(?:dbus\/machine-id|systemd\/random-seed|ucf\/.*\.\d+|shim-signed\/mok)$/,
  /^etc\/(?:passwd-|group-|shadow-|gshadow-|subuid-|subgid-|\.pwd\.lock)$/,
  /^etc\/ssh\/ssh_host_/,
  /^etc\/ssl\/private\/ssl-cert-snakeoil\.key$/,
  /^usr\/sbin\/policy-rc\.d$/,
  /^boot\/initrd\.img/,
  /^root\/\.bash_history$/,
];

/** Folders below the dropped ones that packages own, such as /var/log/apt, stay. */
function staysWithin({ path, type }: Pick<TarEntry, 'path' | 'type'>): boolean {
  if (type === 'directory' && /^var\/(?:log|cache)\//.test(path)) return true;
  return !dropped.some((pattern) => pattern.test(path));
}
