// Compares the disks of two stopped machines file by file: kind, mode, owner, target and content of everything.
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import type { Ext4Reader } from '../../src/disk/ext4/reader.ts';
import { openRoot } from '../../src/inventory/read-inventory.ts';
import { flattenDisk } from '../../src/providers/local/disk/machine-disk.ts';

export interface RootContent {
  /** What is at each path, in words that are equal when it is the same. */
  readonly entries: ReadonlyMap<string, string>;
  /** Installed packages with their versions. */
  readonly packages: ReadonlyMap<string, string>;
  /** The package, or one of several, that brought a path. */
  readonly owners: ReadonlyMap<string, string>;
}

const maxText = 16 * 1024 ** 2;

/** Reads the disk of a machine that was stopped cleanly. */
export async function readMachineRoot(disk: string): Promise<RootContent> {
  const raw = `${disk}.raw`;
  await flattenDisk(disk, raw, new AbortController().signal);
  const source = await openFileSource(raw);
  try {
    return await readRoot(await openRoot(source));
  } finally {
    await source.close();
    await rm(raw);
  }
}

async function readRoot(reader: Ext4Reader): Promise<RootContent> {
  const entries = new Map<string, string>();
  const owners = new Map<string, string>();
  let packages = new Map<string, string>();
  for await (const entry of reader.walk()) {
    const { path, type, mode, uid, gid, link } = entry;
    let content = link;
    if (type === 'file') {
      const hash = createHash('sha256');
      for await (const piece of reader.stream(entry)) hash.update(piece);
      content = hash.digest('hex').slice(0, 16);
    }
    entries.set(path, `${type} ${(mode & 0o7777).toString(8)} ${uid}:${gid} ${content}`);
    const owner = /^\/var\/lib\/dpkg\/info\/([^/:]+)(?::[^/]+)?\.list$/.exec(path)?.[1];
    if (owner !== undefined) {
      const text = (await reader.read(entry, maxText)).toString('utf8');
      for (const line of text.split('\n')) if (line !== '') owners.set(mergedPath(line), owner);
    }
    if (path === '/var/lib/dpkg/status') packages = readPackages(await reader.read(entry, maxText));
  }
  return { entries, packages, owners };
}

/** dpkg still names files as they were before /bin and /lib became links. */
function mergedPath(path: string): string {
  return path.replace(/^\/(?:bin|sbin|lib|lib64)\//, '/usr$&');
}

function readPackages(status: Buffer): Map<string, string> {
  const field = (block: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
  return new Map(
    status
      .toString('utf8')
      .split('\n\n')
      .filter((block) => field(block, 'Status') === 'install ok installed')
      .map((block) => [field(block, 'Package'), field(block, 'Version')] as const),
  );
}

export interface AllowedDifference {
  readonly paths: RegExp;
  readonly why: string;
}

/**
 * What differs and is not allowed to, a line for each path; and which of the allowances nothing has asked for.
 * `mine` must have no package that the other lacks; what packages that `mine` lacks brought to the other may be there.
 */
export function compareRoots(
  mine: RootContent,
  other: RootContent,
  allowed: readonly AllowedDifference[],
): { readonly differences: readonly string[]; readonly unused: readonly string[] } {
  const used = new Set<AllowedDifference>();
  const differences: string[] = [];
  for (const path of new Set([...mine.entries.keys(), ...other.entries.keys()])) {
    const [a, b] = [mine.entries.get(path), other.entries.get(path)];
    if (a === b) continue;
    const owner = other.owners.get(path);
    if (a === undefined && owner !== undefined && !mine.packages.has(owner)) continue;
    const allowance = allowed.find(({ paths }) => paths.test(path));
    if (allowance === undefined) differences.push(`${path}: ${a ?? 'nothing'}, and there ${b ?? 'nothing'}`);
    else used.add(allowance);
  }
  return { differences, unused: allowed.filter((one) => !used.has(one)).map(({ why }) => why) };
}
