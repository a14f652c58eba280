// What the checklist demands of a clean disk beyond the absence of paths: the content of files.
import type { ChecklistItem, FileReset } from '../../domain/capture/checklist.ts';
import type { Ext4Entry } from '../ext4/reader.ts';
import { findMounted } from './disk-checklist.ts';
import type { MountedPart } from './parts.ts';

export interface FileRewrite {
  readonly item: ChecklistItem;
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const maxContent = 16 * 1024 * 1024;
/** Fields of /etc/shadow without a hash: no password, or a locked account. */
const lockedFields: ReadonlySet<string> = new Set(['', '*', 'x', '!', '!!', '!*', '*LK*']);

/** The files whose content is not yet what the items demand. None for a clean disk. */
export async function pendingRewrites(
  mounted: readonly MountedPart[],
  items: readonly ChecklistItem[],
): Promise<FileRewrite[]> {
  const rewrites: FileRewrite[] = [];
  for (const item of items) {
    for (const reset of item.reset ?? []) {
      if (!(await applies(mounted, reset))) continue;
      const { path, mode } = reset;
      const content = Buffer.from(reset.content);
      const current = (await findMounted(mounted, path))?.entry;
      const isDone =
        current?.mode === mode && (await contentOf(mounted, path, current))?.equals(content) === true;
      if (!isDone) rewrites.push({ item, path, content, mode, uid: 0, gid: 0 });
    }
    for (const path of item.lockPasswords ?? []) {
      const current = (await findMounted(mounted, path))?.entry;
      const before = current && (await contentOf(mounted, path, current));
      if (current === undefined || before === undefined) continue;
      const content = lockPasswords(before);
      const { mode, uid, gid } = current;
      if (!content.equals(before)) rewrites.push({ item, path, content, mode, uid, gid });
    }
  }
  return rewrites;
}

async function applies(
  mounted: readonly MountedPart[],
  { path, ifPresent = [] }: FileReset,
): Promise<boolean> {
  const folder = path.slice(0, path.lastIndexOf('/'));
  for (const needed of [folder, ...ifPresent]) {
    if ((await findMounted(mounted, needed)) === undefined) return false;
  }
  return true;
}

async function contentOf(
  mounted: readonly MountedPart[],
  path: string,
  entry: Ext4Entry,
): Promise<Buffer | undefined> {
  if (entry.type !== 'file') return undefined;
  return (await findMounted(mounted, path))?.part.reader.read(entry, maxContent);
}

function lockPasswords(shadow: Buffer): Buffer {
  const lines = shadow.toString('latin1').split('\n');
  const locked = lines.map((line) => {
    const [name = '', field = '', ...rest] = line.split(':');
    return rest.length === 0 || lockedFields.has(field) ? line : [name, '!', ...rest].join(':');
  });
  return Buffer.from(locked.join('\n'), 'latin1');
}
