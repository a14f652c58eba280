// Packages come from signed archives only. A lock names the signed index that lists its packages, as inputs of their own
// (`index`), and a build begins by checking each package against it, once for the same packages and keys.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { describeInput, inputsOf, type Lock, type LockedInput } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { expandOne, machineNames } from '../../domain/recipe/variables.ts';
import { recordPath, writeRecord } from '../content/records.ts';
import { type AptWorkspace, archiveParts } from '../debian/apt-workspace.ts';
import {
  listedPackages,
  packagesFile,
  type ReleaseIndex,
  readSignedRelease,
} from '../debian/signed-index.ts';
import { unpack } from '../inputs/unpack.ts';
import type { ArchiveWish, LockContext } from './context.ts';
import { defaultSuite } from './rules.ts';

/** The archive of a recipe with its own keys is `apt`, any other is `debian`. */
type Archive = 'apt' | 'debian';

type VerifyContext = Pick<LockContext, 'cacheFolder' | 'inputs' | 'findKeyring' | 'signal'>;
type Locked = Pick<Lock, 'recipe' | 'inputs'>;

export function archiveWish({ base, architecture }: Pick<Recipe, 'base' | 'architecture'>): ArchiveWish {
  return {
    suite: base?.suite ?? defaultSuite,
    machine: machineNames[architecture],
    ...{ mirror: base?.mirror, securityMirror: base?.securityMirror },
    ...{ components: base?.components, keys: base?.keys },
  };
}

/** The archive of the build's own tools. They run outside of the sandbox, so no key of a recipe is enough for them. */
export function toolsWish(recipe: Recipe): ArchiveWish {
  return recipe.base?.keys === undefined
    ? archiveWish(recipe)
    : { suite: defaultSuite, machine: machineNames[recipe.architecture] };
}

export function archiveOf(recipe: Recipe): Archive {
  return recipe.base?.keys === undefined ? 'debian' : 'apt';
}

/** The packages with the addresses that the index gives them, and the parts of the index that list them. */
export async function lockIndexes(
  apt: AptWorkspace,
  archive: Archive,
  packages: readonly LockedInput[],
  context: Pick<LockContext, 'inputs' | 'downloads' | 'signal'>,
): Promise<readonly LockedInput[]> {
  const { inputs, downloads, signal } = context;
  const { keyring, machine, components } = apt.archive;
  const open = new Map(packages.map((input) => [input.sha256, input]));
  const found: LockedInput[] = [];
  for (const { address, suites, isSecurity } of archiveParts(apt.archive)) {
    const scheme = isSecurity ? `${archive}-security` : archive;
    for (const suite of suites) {
      if (open.size === 0) break;
      const path = await releasePath(apt.lists, suite);
      const release = await readSignedRelease(path, keyring, `The index of ${suite}`, signal);
      const version = release.date || 'undated';
      const lists: LockedInput[] = [];
      for (const component of components) {
        const file = packagesFile(release, component, machine);
        if (file === undefined || open.size === 0) continue;
        const { sha256, sizeBytes } = file;
        const place = release.byHash ? file.path.replace(/[^/]+$/, `by-hash/SHA256/${sha256}`) : file.path;
        const label = `The index of ${suite} ${component}`;
        const url = `${address.replace(/\/+$/, '')}/dists/${suite}/${place}`;
        const list = await downloads.fetch({ url, label, sha256, sizeBytes, signal });
        const records = await listedPackages(unpack(inputs.read(list), signal), new Set(open.keys()));
        for (const [hash, record] of records) {
          const input = open.get(hash);
          if (input === undefined || !isSame(input, record)) continue;
          open.delete(hash);
          found.push({ ...input, source: `${scheme}:${record.path}` });
        }
        if (records.size === 0) continue;
        const source = `${scheme}:dists/${suite}/${place}`;
        lists.push({
          kind: 'index',
          name: `${scheme}/${suite}/${component}`,
          version,
          sha256,
          sizeBytes,
          source,
        });
      }
      if (lists.length === 0) continue;
      const { sha256, sizeBytes } = await inputs.addFile(path);
      const source = `${scheme}:dists/${suite}/InRelease`;
      lists.push({ kind: 'index', name: `${scheme}/${suite}/InRelease`, version, sha256, sizeBytes, source });
      found.push(...lists);
    }
  }
  const [lost] = open.values();
  if (lost !== undefined) throw unlisted(lost);
  return found;
}

async function releasePath(lists: string, suite: string): Promise<string> {
  const name = (await readdir(lists)).find((one) => one.endsWith(`_dists_${suite}_InRelease`));
  if (name !== undefined) return join(lists, name);
  throw new ImagoError('archive-untrusted', `The archive has no signed index of ${suite}.`);
}

type Listed = Pick<LockedInput, 'name' | 'version' | 'sizeBytes'>;

function isSame(input: Listed, record: Listed): boolean {
  return (
    input.name === record.name && input.version === record.version && input.sizeBytes === record.sizeBytes
  );
}

/** Whether these packages were verified before with the same index and keys. */
export async function isVerified(lock: Locked, context: VerifyContext): Promise<boolean> {
  return inputsOf(lock as Lock, 'package').length === 0 || existsSync(await markPath(lock, context));
}

export async function rememberVerified(lock: Locked, context: VerifyContext): Promise<void> {
  await writeRecord(context.cacheFolder, await markPath(lock, context), '');
}

async function markPath(lock: Locked, context: VerifyContext): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(suitesOf(lock)));
  for (const keyring of Object.values(await keyrings(lock, context)))
    hash.update(await readFile(keyring).catch(() => ''));
  for (const { kind, name, version, sha256, sizeBytes, source, sets } of lock.inputs) {
    if (kind !== 'package' && kind !== 'index') continue;
    hash.update(JSON.stringify([kind, name, version, sha256, sizeBytes, source, sets?.includes('tools')]));
  }
  return recordPath(context.cacheFolder, 'verified', hash.digest('hex'));
}

function suitesOf({ recipe }: Locked): Readonly<Record<Archive, readonly string[]>> {
  const variants = (suite: string) => [suite, `${suite}-updates`, `${suite}-security`];
  return {
    apt: variants(archiveWish(expandOne(recipe)).suite),
    debian: variants(toolsWish(expandOne(recipe)).suite),
  };
}

async function keyrings(
  lock: Locked,
  { findKeyring }: VerifyContext,
): Promise<Readonly<Record<Archive, string>>> {
  const recipe = expandOne(lock.recipe);
  return { apt: await findKeyring(archiveWish(recipe)), debian: await findKeyring(toolsWish(recipe)) };
}

interface IndexPart {
  readonly input: LockedInput;
  readonly scheme: string;
  readonly archive: Archive;
  readonly suite: string;
  readonly file: string;
}

/**
 * Throws `archive-untrusted` unless each package is listed, with its name, version, sha256, size and address, in an index
 * of the lock that is signed by a key of its archive. The index must be in the input store.
 */
export async function verifyPackages(lock: Locked, context: VerifyContext): Promise<void> {
  const packages = inputsOf(lock as Lock, 'package');
  const suites = suitesOf(lock);
  const rings = await keyrings(lock, context);
  const parts = inputsOf(lock as Lock, 'index').flatMap(indexPart);
  const releases: { readonly part: IndexPart; readonly release: ReleaseIndex }[] = [];
  for (const part of parts.filter(({ file }) => file === 'InRelease')) {
    const label = describeInput(part.input);
    const path = await storedPath(part.input, context);
    const release = await readSignedRelease(path, rings[part.archive], label, context.signal);
    const isOfSuite = release.suite === part.suite || release.codename === part.suite;
    if (isOfSuite && suites[part.archive].includes(part.suite)) releases.push({ part, release });
  }
  const wanted = new Set(packages.map(({ sha256 }) => sha256));
  const [listed, trusted] = [new Set<LockedInput>(), new Set<LockedInput>()];
  for (const part of parts.filter(({ file }) => file !== 'InRelease')) {
    const isNamed = releases.some(
      (one) => one.part.scheme === part.scheme && one.part.suite === part.suite && names(one.release, part),
    );
    if (!isNamed) continue;
    const stored = { ...part.input, path: await storedPath(part.input, context) };
    const records = await listedPackages(unpack(context.inputs.read(stored), context.signal), wanted);
    for (const input of packages) {
      const record = records.get(input.sha256);
      if (record === undefined || !isSame(input, record)) continue;
      if (input.source === `${part.scheme}:${record.path}`) listed.add(input);
      if (part.archive === 'debian') trusted.add(input);
    }
  }
  const lost = packages.find(
    (input) => !listed.has(input) || (input.sets?.includes('tools') === true && !trusted.has(input)),
  );
  if (lost !== undefined) throw unlisted(lost);
  await rememberVerified(lock, context);
}

function indexPart(input: LockedInput): readonly IndexPart[] {
  const [, scheme, archive, suite, file] =
    /^((apt|debian)(?:-security)?):dists\/([^/]+)\/(.+)$/.exec(input.source) ?? [];
  if (scheme === undefined || suite === undefined || file === undefined) return [];
  return [{ input, scheme, archive: archive === 'apt' ? 'apt' : 'debian', suite, file }];
}

function names({ files }: ReleaseIndex, { input }: IndexPart): boolean {
  return [...files].some(
    ([path, file]) =>
      /\/binary-[^/]+\/Packages(?:\.gz|\.xz)?$/.test(path) &&
      file.sha256 === input.sha256 &&
      file.sizeBytes === input.sizeBytes,
  );
}

async function storedPath(input: LockedInput, { inputs }: VerifyContext): Promise<string> {
  const stored = await inputs.find(input.sha256);
  if (stored !== undefined) return stored.path;
  throw missingIndex(input);
}

export function missingIndex(input: LockedInput, cause?: unknown): ImagoError {
  return new ImagoError(
    'input-missing',
    `${describeInput(input)}, which lists the packages of the lock, is neither in the cache nor at its archive.`,
    {
      hint: 'Build where the lock was made or where a version of it is kept, or run `imago recipe lock --newest`.',
      cause,
    },
  );
}

function unlisted(input: LockedInput): ImagoError {
  const where = input.sets?.includes('tools') === true ? 'signed index of Debian' : 'signed index';
  return new ImagoError(
    'archive-untrusted',
    `${describeInput(input)} is in no ${where} of the lock with this sha256 and address.`,
    { hint: 'Lock the recipe again with `imago recipe lock --newest`, and do not change the lock.' },
  );
}
