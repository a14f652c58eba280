// The signed index of an apt archive: an InRelease file signed by a known key names the sha256 of each list of packages,
// and a list names that of each package. When the index expires does not matter here: apt checks that when it is locked.
import { createHash } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { recordPath, writeRecord } from '../content/records.ts';
import { type PackageRecord, readRecords } from './package-record.ts';

export interface ReleaseIndex {
  readonly suite: string;
  readonly codename: string;
  /** ISO 8601. */
  readonly date: string;
  readonly byHash: boolean;
  /** By their path below that of the suite. */
  readonly files: ReadonlyMap<string, { readonly sha256: string; readonly sizeBytes: number }>;
}

/** Throws `archive-untrusted` unless one of the keys signed all of the file, and nothing else is in it. */
export async function readSignedRelease(
  path: string,
  keyring: string,
  label: string,
  signal?: AbortSignal,
): Promise<ReleaseIndex> {
  const args = ['--keyring', keyring, '--status-fd', '2', '--output', '-', path];
  const { stdout, stderr } = await runTool('gpgv', args, { signal, accept: [0, 1, 2] });
  const told = stderr.split('\n').flatMap((line) => /^\[GNUPG:\] (\w+)/.exec(line)?.[1] ?? []);
  const count = (word: string) => told.filter((one) => one === word).length;
  // A key that expired later signed it when it was good; a signature of a key that is not known adds nothing.
  const signed = count('VALIDSIG') > 0 && count('GOODSIG') + count('EXPKEYSIG') > 0;
  if (!signed || count('BADSIG') > 0 || count('REVKEYSIG') > 0 || count('PLAINTEXT') !== 1) {
    throw new ImagoError('archive-untrusted', `${label} is not signed by a key of its archive.`);
  }
  return parseRelease(stdout.toString('utf8'));
}

function parseRelease(text: string): ReleaseIndex {
  const field = (name: string) => new RegExp(`^${name}: *(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
  const table = /^SHA256: *\n((?: .*(?:\n|$))*)/m.exec(text)?.[1] ?? '';
  const files = table.split('\n').flatMap((line) => {
    const [, sha256, size, path] = /^ ([0-9a-f]{64}) +(\d+) (\S+)$/.exec(line) ?? [];
    return sha256 === undefined || path === undefined
      ? []
      : [[path, { sha256, sizeBytes: Number(size) }] as const];
  });
  const date = new Date(field('Date'));
  return {
    suite: field('Suite'),
    codename: field('Codename'),
    date: Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('.000Z', 'Z'),
    byHash: field('Acquire-By-Hash') === 'yes',
    files: new Map(files),
  };
}

/** The list of a component's packages: as gzip, which needs no tool, where there is a choice. */
export function packagesFile({ files }: ReleaseIndex, component: string, machine: string) {
  for (const ending of ['.gz', '.xz', '']) {
    const path = `${component}/binary-${machine}/Packages${ending}`;
    const found = files.get(path);
    if (found !== undefined) return { path, ...found };
  }
  return undefined;
}

/** More than any list of packages has. */
const maxList = 512 * 1024 * 1024;
const hashField = Buffer.from('\nSHA256: ');

/** The records of those packages that a list has, by their sha256. Only these are read: a list has thousands. */
export async function listedPackages(
  list: AsyncIterable<Uint8Array>,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, PackageRecord>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of list) {
    parts.push(part);
    length += part.length;
    if (length > maxList) throw new ImagoError('archive-untrusted', 'A list of packages is too long.');
  }
  const text = Buffer.concat(parts);
  const found = new Map<string, PackageRecord>();
  for (let at = text.indexOf(hashField); at !== -1; at = text.indexOf(hashField, at + 1)) {
    const begin = at + hashField.length;
    const sha256 = text.toString('latin1', begin, begin + 64);
    if (!wanted.has(sha256)) continue;
    const from = text.lastIndexOf('\n\n', at);
    const to = text.indexOf('\n\n', at);
    const paragraph = text.toString('utf8', from === -1 ? 0 : from + 2, to === -1 ? text.length : to);
    for (const record of readRecords(paragraph)) if (record.sha256 === sha256) found.set(sha256, record);
  }
  return found;
}

/** The keys of a recipe as a file for apt and gpgv. Throws `recipe-invalid` if one is not a key in ASCII armor. */
export async function writeKeyring(cacheFolder: string, keys: readonly string[]): Promise<string> {
  const bytes = Buffer.concat(keys.map(dearmor));
  const name = `${createHash('sha256').update(bytes).digest('hex')}.gpg`;
  const path = recordPath(cacheFolder, 'keyrings', name);
  await writeRecord(cacheFolder, path, bytes);
  return path;
}

function dearmor(key: string): Buffer {
  const block =
    /^-----BEGIN PGP PUBLIC KEY BLOCK-----\n(?:[^\n]*: [^\n]*\n)*\n([A-Za-z0-9+/=\n]+?)\n(?:=[A-Za-z0-9+/]{4}\n)?-----END PGP PUBLIC KEY BLOCK-----\s*$/;
  const body = block.exec(key.replaceAll('\r', '').replaceAll(/^[ \t]+|[ \t]+$/gm, ''))?.[1];
  if (body !== undefined) return Buffer.from(body, 'base64');
  throw new ImagoError('recipe-invalid', 'base.keys: one is not an OpenPGP public key in ASCII armor.');
}
