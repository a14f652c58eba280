// A difference as text: what people read in a terminal and in release notes.
import { formatBytes } from '../../domain/value/bytes.ts';
import type { InventoryFile } from '../model/inventory.ts';
import type { Changed, InventoryDiff } from './diff.ts';

export interface FormatDiffOptions {
  /** Files beyond this many are counted and not named. All are named unless given. */
  readonly maxFiles?: number;
}

export interface DiffSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Only the parts that have differences. A line begins with `+` for what is new, `-` for what is gone, else `~`. */
export function diffSections(diff: InventoryDiff, options: FormatDiffOptions = {}): DiffSection[] {
  const limit = options.maxFiles ?? diff.files.length;
  const files = diff.files.slice(0, limit).map((change) => line(change, describeFile));
  const left = diff.files.length - files.length;
  const sections = [
    { title: 'Packages', lines: diff.packages.map((change) => line(change, (item) => item.version)) },
    {
      title: 'Container images',
      lines: diff.containerImages.map((change) => line(change, (item) => item.digest.slice(0, 19))),
    },
    {
      title: 'Units',
      lines: diff.units.map((change) => line(change, (item) => [item.state, ...item.wantedBy].join(' '))),
    },
    { title: 'Settings', lines: diff.settings.map((change) => line(change, (value) => value)) },
    { title: 'Windows', lines: diff.windows.map((change) => line(change, (value) => value)) },
    { title: 'Sizes', lines: diff.sizes.map((change) => line(change, formatBytes)) },
    { title: 'Files', lines: left > 0 ? [...files, `~ and ${left} more`] : files },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

export function formatDiff(diff: InventoryDiff, options: FormatDiffOptions = {}): string {
  const sections = diffSections(diff, options);
  if (sections.length === 0) return 'Nothing differs.\n';
  return sections
    .map(({ title, lines }) => `${title}\n${lines.map((text) => `  ${text}\n`).join('')}`)
    .join('\n');
}

function line<T>({ name, before, after, fields }: Changed<T>, describe: (item: T) => string): string {
  if (before === undefined) return `+ ${name} ${after === undefined ? '' : describe(after)}`.trimEnd();
  if (after === undefined) return `- ${name} ${describe(before)}`.trimEnd();
  const [was, is] = [describe(before), describe(after)];
  return was === is ? `~ ${name} (${fields.join(', ')})` : `~ ${name} ${was} → ${is}`;
}

function describeFile(file: InventoryFile): string {
  if (file.type === 'symlink') return `→ ${file.link}`;
  if (file.type !== 'file') return file.type;
  return `${formatBytes(file.size)} ${file.sha256?.slice(0, 12) ?? ''}`.trimEnd();
}
