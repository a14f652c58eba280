// Proves that a hotfix moved nothing else: every difference must follow from what it was meant to change.

import type { InventoryFile } from '../model/inventory.ts';
import type { Changed, InventoryDiff } from './diff.ts';

export interface IntendedChange {
  /** Debian packages that may differ, with all files that they own. */
  readonly packages?: readonly string[];
  /** Files, or folders with all below them, that may differ. */
  readonly places?: readonly string[];
  /** Where something else is: nothing may differ there, though it be below one of `places`. */
  readonly others?: readonly string[];
  readonly containerImages?: readonly string[];
}

/** What every build rewrites: the disk's own description, and dpkg's and containerd's own records. */
const records = {
  always: ['/etc/imago-release'],
  packages: [
    '/var/lib/dpkg',
    '/var/lib/systemd/deb-systemd-helper-enabled',
    '/etc/alternatives',
    '/etc/ld.so.cache',
    '/var/log',
  ],
  containerImages: ['/var/lib/containerd'],
} as const;

interface MadeFrom {
  readonly places: readonly string[];
  readonly settings: readonly string[];
}

/** What is made from the content of a package, and is owned by none. */
const madeFrom: readonly (readonly [name: RegExp, made: MadeFrom])[] = [
  [/^ca-certificates$/, { places: ['/etc/ssl/certs', '/etc/ca-certificates.conf'], settings: [] }],
  [/^base-files$/, { places: [], settings: ['system'] }],
  [/^linux-image-/, { places: ['/usr/lib/modules'], settings: ['kernel', 'kernel sha256', 'initrd sha256'] }],
];

/** One sentence for each difference that was not intended; the empty list is the proof. */
export function unintendedChanges(diff: InventoryDiff, intended: IntendedChange): string[] {
  const { packages = [], places = [], others = [], containerImages = [] } = intended;
  const made = madeFrom.filter(([name]) => packages.some((one) => name.test(one))).map(([, one]) => one);
  const derived = new Set(made.flatMap(({ settings }) => settings));
  const allowed = [
    ...places,
    ...made.flatMap((one) => one.places),
    ...records.always,
    ...(packages.length > 0 ? records.packages : []),
    ...(containerImages.length > 0 ? records.containerImages : []),
  ];
  const isIntended = (change: Changed<InventoryFile>) => {
    const owner = (change.after ?? change.before)?.package;
    if (owner !== undefined && packages.includes(owner)) return true;
    const depth = closest(allowed, change.name);
    if (depth > 0 && depth >= closest(others, change.name)) return true;
    return isFolderOf(change, allowed);
  };
  const unitPaths = new Set(diff.files.filter(isIntended).map(({ name }) => name));
  return [
    ...sentences('package', diff.packages, ({ name }) => packages.includes(name.replace(/:[^:]*$/, ''))),
    ...sentences('file', diff.files, isIntended),
    ...sentences('unit', diff.units, ({ before, after }) => unitPaths.has((after ?? before)?.path ?? '')),
    ...sentences('setting', diff.settings, ({ name }) => name.startsWith('release ') || derived.has(name)),
    ...sentences('container image', diff.containerImages, ({ name }) => containerImages.includes(name)),
    ...sentences('Windows', diff.windows, () => false),
  ];
}

/** The length of the longest of the places that a path is at or below; 0 when it is below none. */
function closest(places: readonly string[], path: string): number {
  const around = places.filter((place) => path === place || path.startsWith(`${place}/`));
  return Math.max(0, ...around.map(({ length }) => length));
}

/** A folder that holds something intended changes its time with it. */
function isFolderOf(
  { name, before, after, fields }: Changed<InventoryFile>,
  allowed: readonly string[],
): boolean {
  const isFolder = (after ?? before)?.type === 'directory';
  const onlyTime = fields.every((field) => field === 'mtime');
  return isFolder && onlyTime && allowed.some((place) => place.startsWith(name === '/' ? '/' : `${name}/`));
}

function sentences<T>(
  kind: string,
  changes: readonly Changed<T>[],
  isIntended: (change: Changed<T>) => boolean,
): string[] {
  return changes
    .filter((change) => !isIntended(change))
    .map(({ name, before, after, fields }) => {
      if (before === undefined) return `${kind} ${name} is new`;
      if (after === undefined) return `${kind} ${name} is gone`;
      return `${kind} ${name} changed (${fields.join(', ')})`;
    });
}
