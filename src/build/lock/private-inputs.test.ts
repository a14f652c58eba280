// What a recipe marks as private is redacted in everything that is made from the lock that its resolvers give.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sampleInput, sampleInventory, sampleLock } from '../../../test/support/inventory.ts';
import { type Lock, type LockedInput, makeLock } from '../../domain/lock/lock.ts';
import { whyVersion } from '../../domain/lock/reason.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { makeReleaseNotes } from '../../inventory/notes/release-notes.ts';
import { renderReleaseNotes } from '../../inventory/notes/render.ts';
import { makeProvenance } from '../../inventory/provenance.ts';
import { contentFolder } from '../content/content-folder.ts';
import type { AptWorkspace } from '../debian/apt-workspace.ts';
import { localFiles } from '../inputs/local-files.ts';
import { lockParts } from './parts.ts';
import { solveAll } from './resolve-packages.ts';
import { resolveTexts } from './resolve-texts.ts';
import { buildRules } from './rules.ts';

const recipe: Recipe = {
  ...sampleLock().recipe,
  packages: [{ name: 'openpack' }],
  components: [
    {
      name: 'hushpack',
      from: { package: 'hushdeb' },
      private: true,
      unit: { file: 'units/hush.service' },
      config: [{ path: '/etc/hush.conf', file: 'hush.conf' }],
    },
    { name: 'open', from: { package: 'openpack' }, config: [{ path: '/etc/open.conf', file: 'open.conf' }] },
  ],
  settings: {},
};

/** Who depends on whom. Names of one installed set, in the order in which apt would tell them. */
const archive: Readonly<Record<string, readonly string[]>> = {
  libbase: [],
  openpack: ['libopen', 'libbase'],
  libopen: [],
  hushdeb: ['libhush', 'libopen', 'libbase'],
  libhush: ['libhush-data'],
  'libhush-data': [],
};

/** An archive in which the essential system and the base are one package, and the version tells the package. */
const apt: AptWorkspace = {
  lists: '',
  archive: {
    suite: 'trixie',
    machine: 'amd64',
    mirror: '',
    securityMirror: undefined,
    components: ['main'],
    keyring: '',
    redirects: false,
  },
  prefer() {},
  async run(program, _, wanted, status = '') {
    if (program === 'apt-cache') return wanted.map(paragraph).join('\n\n');
    const found = new Set<string>();
    const add = (name: string) => {
      if (found.has(name) || status.includes(`Package: ${name}\n`)) return;
      found.add(name);
      for (const other of archive[name] ?? []) add(other);
    };
    for (const name of wanted) add(name in archive ? name : 'libbase');
    return [...found].map((name) => `Inst ${name} (7-${name} Debian:13 [amd64])`).join('\n');
  },
};

function paragraph(exact: string): string {
  const [name = '', version = ''] = exact.split('=');
  return [
    `Package: ${name}\nVersion: ${version}\nArchitecture: amd64\nSHA256: ${'d'.repeat(64)}\nSize: 1`,
    `Installed-Size: 1\nFilename: pool/${name}.deb\nDepends: ${(archive[name] ?? []).join(', ')}`,
  ].join('\n');
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-private-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function context() {
  return {
    ...{ cacheFolder: folder, files: localFiles({ folder }), inputs: contentFolder(join(folder, 'cache')) },
    ...{ log() {}, progress() {} },
  } as unknown as Parameters<typeof resolveTexts>[1];
}

async function resolved(): Promise<readonly LockedInput[]> {
  await Promise.all(['hush.conf', 'open.conf'].map((name) => writeFile(join(folder, name), name)));
  await mkdir(join(folder, 'units'), { recursive: true });
  await writeFile(join(folder, 'units/hush.service'), '[Unit]');
  return [...(await solveAll(apt, recipe)), ...(await resolveTexts(recipe, context()))];
}

function everythingTold(lock: Lock): string {
  const before = sampleLock({}, []);
  const plain = sampleInventory();
  const [sample] = plain.packages;
  const packages = lock.inputs.flatMap(({ kind, name, version }) =>
    kind === 'package' && sample !== undefined
      ? [{ ...sample, name, version, source: name, sourceVersion: version }]
      : [],
  );
  const notes = makeReleaseNotes({
    ...{ image: 'node', version: '1', digest: 'x', diskSha256: 'y', createdAt: '2026-01-01T00:00:00Z' },
    ...{ lock, inventory: sampleInventory({ packages }) },
    previous: { version: '0', digest: 'z', inventory: plain, lock: before },
  });
  const provenance = makeProvenance({
    ...{ image: 'node', version: '1', lock, tool: '0', toolVersions: {}, operation: 'op' },
    ...{ startedAt: '', finishedAt: '', diskSha256: 'y' },
  });
  const why = [whyVersion(before, lock), whyVersion(lock, before)];
  return [renderReleaseNotes(notes), ...[notes, provenance, why].map((one) => JSON.stringify(one))].join();
}

describe('a private component that is a package, with a unit and configuration from files', () => {
  it('is named in no notes, provenance or reason for a version: neither it nor what only it needs', async () => {
    const lock = makeLock(recipe, await resolved(), { rules: 1, epoch: 1 });
    const told = everythingTold(lock);
    expect(told).not.toMatch(/hush/);
    for (const name of ['libopen', 'libbase', 'openpack', 'open.conf']) expect(told).toContain(name);
  });

  it('is hidden by its names in a lock that was made before these inputs were marked', async () => {
    const bare = (await resolved()).map(({ private: _, ...input }) => input);
    const lock = makeLock(recipe, bare, { rules: 1, epoch: 1 });
    expect(everythingTold(lock)).not.toMatch(/hushdeb|hushpack|hush\.conf|hush\.service/);
  });

  it('has its packages resolved again if the previous lock does not mark them', async () => {
    const inputs = [...(await resolved()), sampleInput('index', 'debian/trixie/InRelease')];
    const kept = (given: readonly LockedInput[]) =>
      lockParts(recipe, context(), makeLock(recipe, given, { rules: buildRules, epoch: 1 }))[0]?.kept;
    expect(kept(inputs)?.map(({ name }) => name)).toContain('hushdeb');
    expect(kept(inputs.map(({ private: _, ...input }) => input))).toBeUndefined();
  });
});
