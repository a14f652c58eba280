// Scans a cleaned disk before it is published. It trusts nothing that the cleaner says: every demand of the checklist is
// verified on the disk, and every file is searched for secrets. What cannot be read is an error.
import { createHash } from 'node:crypto';
import type { ChecklistItem } from '../../domain/capture/checklist.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, partOf, readBytes } from '../bytes/byte-source.ts';
import { isZero } from '../bytes/extent.ts';
import { efiMount } from './clean-disk.ts';
import { pendingRewrites } from './demands.ts';
import { type PathFinders, readDiskChecklist } from './disk-checklist.ts';
import { placeOf, readFatVolume } from './fat-files.ts';
import { type DiskPart, openMounted, readParts } from './parts.ts';
import { searchSecrets } from './secrets.ts';

export interface ScanOptions {
  readonly items: readonly ChecklistItem[];
  readonly finders: PathFinders;
  /**
   * Whether a file that looks like a secret is known: identical in the parent image, or allowed by a user. None if
   * omitted. Called only for findings.
   */
  readonly isKnown?: (path: string, sha256: string) => boolean | Promise<boolean>;
  readonly signal?: AbortSignal | undefined;
}

export interface ScanFinding {
  readonly path: string;
  /** The ID of a checklist item, or the kind of secret. */
  readonly rule: string;
  readonly reason: string;
}

export interface ScanReport {
  readonly findings: readonly ScanFinding[];
  readonly files: number;
  readonly bytes: number;
}

const swapHeader = 4096;
const windowSize = 1024 * 1024;
const keyStores = /\.(?:p12|pfx|keytab|jks)$/i;

/** Reads the whole disk once. Throws as the readers do; findings are a result, not an error. */
export async function scanDisk(disk: ByteSource, options: ScanOptions): Promise<ScanReport> {
  const parts = await readParts(disk);
  const mounted = await openMounted(disk, parts);
  const list = await readDiskChecklist(mounted, options.items, options.finders);
  const findings: ScanFinding[] = (await pendingRewrites(mounted, list.items)).map(({ path, item }) => ({
    path,
    rule: item.id,
    reason: item.reason,
  }));
  const search = openSearch(options, findings);
  const efiMatch = list.match();
  for (const { reader, mount } of mounted) {
    const match = list.match();
    const seen = new Set<number>();
    for await (const entry of reader.walk({ signal: options.signal })) {
      const path = mount + (entry.path === '/' && mount !== '' ? '' : entry.path);
      const item = match({ path, type: entry.type });
      if (item !== undefined && entry.inode > 2) findings.push({ path, rule: item.id, reason: item.reason });
      if (entry.type !== 'file' || seen.has(entry.inode)) continue;
      seen.add(entry.inode);
      await search.file(path, entry.size, () => reader.stream(entry));
    }
  }
  for (const part of parts) {
    const source = partOf(disk, part.offset, part.size);
    if (part.kind === 'swap' && !(await isClearedSwap(source))) findings.push(swapFinding(part));
    if (part.kind !== 'fat') continue;
    const volume = await readFatVolume(source);
    for (const { path: name, size, clusters } of volume.files) {
      const path = efiMount + name.toLowerCase();
      const item = efiMatch({ path, type: 'file' });
      if (item !== undefined) findings.push({ path, rule: item.id, reason: item.reason });
      await search.file(path, size, async function* () {
        for (const [index, cluster] of clusters.entries()) {
          const length = Math.min(volume.clusterSize, size - index * volume.clusterSize);
          if (length > 0) yield readBytes(source, placeOf(volume, cluster).offset, length);
        }
      });
    }
  }
  return { findings, ...search.counts };
}

function openSearch({ isKnown = () => false }: ScanOptions, findings: ScanFinding[]) {
  const counts = { files: 0, bytes: 0 };
  return {
    counts,
    async file(path: string, size: number, content: () => AsyncGenerator<Buffer>): Promise<void> {
      counts.files += 1;
      counts.bytes += size;
      const secrets = searchSecrets(size);
      let isSwap = false;
      let at = 0;
      for await (const piece of content()) {
        if (at === 0) isSwap = piece.toString('latin1', swapHeader - 10, swapHeader) === 'SWAPSPACE2';
        at += piece.length;
        secrets.push(piece);
      }
      const kinds = [
        ...secrets.end(),
        ...(isSwap ? ['swap'] : []),
        ...(keyStores.test(path) && size > 0 ? ['key-store'] : []),
      ];
      if (kinds.length === 0) return;
      const hash = createHash('sha256');
      for await (const piece of content()) hash.update(piece);
      if (await isKnown(path, hash.digest('hex'))) return;
      for (const rule of kinds)
        findings.push({ path, rule, reason: `The content looks like a secret: ${rule}.` });
    },
  };
}

async function isClearedSwap(source: ByteSource): Promise<boolean> {
  for (let at = swapHeader; at < source.size; at += windowSize) {
    if (!isZero(await readBytes(source, at, Math.min(windowSize, source.size - at)))) return false;
  }
  return true;
}

function swapFinding({ partition }: DiskPart): ScanFinding {
  return { path: `partition ${partition.number}`, rule: 'swap', reason: 'A swap partition holds memory.' };
}

/** Throws `capture-unsafe`, which names the paths and never their content. */
export function requireSafe({ findings }: ScanReport): void {
  if (findings.length === 0) return;
  const shown = findings.slice(0, 10).map(({ path, rule }) => `${printable(path)} (${rule})`);
  const more = findings.length > shown.length ? `, and ${findings.length - shown.length} more` : '';
  throw new ImagoError(
    'capture-unsafe',
    `The disk holds an identity or a secret: ${shown.join(', ')}${more}.`,
    {
      details: { findings: findings.map(({ path, rule }) => ({ path, rule })) },
    },
  );
}

function printable(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path;
}
