// What comes with every version: SBOMs that the official schemas accept, notes, provenance that verifies, and a
// difference that proves a hotfix, all from disks and through the store.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tarFile } from '../../src/disk/tar/writer.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import {
  attachMeasures,
  attachRecords,
  readRecord,
  recordTypes,
} from '../../src/inventory/attach-records.ts';
import { diffInventories } from '../../src/inventory/diff/diff.ts';
import { unintendedChanges } from '../../src/inventory/diff/hotfix-proof.ts';
import { loadInventory } from '../../src/inventory/load-inventory.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { provenanceType } from '../../src/inventory/provenance.ts';
import { readInventory } from '../../src/inventory/read-inventory.ts';
import { sbomComponents } from '../../src/inventory/sbom/components.ts';
import { cycloneDxSbom } from '../../src/inventory/sbom/cyclonedx.ts';
import { spdxSbom } from '../../src/inventory/sbom/spdx.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { openDisk } from '../../src/oci/disks/open-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import { keyFolder } from '../../src/oci/signatures/key-folder.ts';
import { verifyStatements } from '../../src/oci/signatures/sign.ts';
import { sampleInput, sampleInventory, sampleLock, sampleSubject } from '../support/inventory.ts';
import { makeNodeDisk, type NodeDiskChange } from '../support/node-disk.ts';
import { type SbomJudge, sbomJudge } from '../support/sbom-judge.ts';

let folder: string;
let store: DiskStore;
let judge: SbomJudge;
let first: { readonly digest: Digest; readonly inventory: Inventory };

beforeAll(async () => {
  await fetchTools({ group: 'disk' });
  judge = await sbomJudge();
  folder = await mkdtemp(join(tmpdir(), 'imago-records-'));
  store = await openDiskStore(join(folder, 'store'));
  first = await seal('first');
});
afterAll(async () => {
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Assembles a disk, puts it into the store, and reads its inventory from there. */
async function seal(name: string, change: NodeDiskChange = {}): Promise<typeof first> {
  await mkdir(join(folder, name));
  const { digest } = await putDisk(store, (await makeNodeDisk(join(folder, name), change)).path);
  const disk = await openDisk(store, digest);
  try {
    return { digest, inventory: await readInventory(disk) };
  } finally {
    await disk.close();
  }
}

function notesOf({ digest, inventory }: typeof first) {
  const createdAt = '2026-01-01T00:00:00.000Z';
  const lock = sampleLock({}, [sampleInput('binary', 'kubelet')]);
  return { image: 'node', version: '1.34.2', digest, diskSha256: 'e'.repeat(64), createdAt, inventory, lock };
}

describe('an SBOM', () => {
  it('of a disk is valid in both official schemas, and names packages, files and container images', () => {
    const documents = [
      cycloneDxSbom(first.inventory, sampleSubject),
      spdxSbom(first.inventory, sampleSubject),
    ] as const;
    expect(judge.cycloneDx(documents[0])).toEqual([]);
    expect(judge.spdx(documents[1])).toEqual([]);
    for (const document of documents) {
      const text = JSON.stringify(document);
      for (const part of [
        'pkg:deb/debian/runc@1.1.15?arch=amd64',
        '/usr/sbin/runc',
        'pkg:oci/number-0@sha256:0',
      ]) {
        expect(text).toContain(part);
      }
    }
  });

  it("names the recipe's components with version, sha256 and files, and is valid in both schemas", () => {
    const lock = sampleLock(
      { components: [{ name: 'kubelet', version: '1.34.2', from: { file: 'kubelet' }, to: '/etc/hosts' }] },
      [
        sampleInput('binary', 'kubelet', { version: '1.34.2' }),
        sampleInput('files', 'imago-agent', { version: '0.1.0+a b' }),
      ],
    );
    const inventory = sampleInventory();
    const components = sbomComponents(lock, inventory, []);
    const cycloneDx = cycloneDxSbom(inventory, sampleSubject, components);
    const spdx = spdxSbom(inventory, sampleSubject, components);
    expect(judge.cycloneDx(cycloneDx)).toEqual([]);
    expect(judge.spdx(spdx)).toEqual([]);
    expect(cycloneDx).toMatchObject({
      components: expect.arrayContaining([
        expect.objectContaining({
          name: 'kubelet',
          version: '1.34.2',
          purl: 'pkg:generic/kubelet@1.34.2',
          hashes: [{ alg: 'SHA-256', content: 'f'.repeat(64) }],
          components: [expect.objectContaining({ name: '/etc/hosts' })],
        }),
        expect.objectContaining({ name: 'imago-agent', purl: 'pkg:generic/imago-agent@0.1.0%2Ba%20b' }),
      ]),
    });
    expect(spdx).toMatchObject({
      packages: expect.arrayContaining([
        expect.objectContaining({ name: 'kubelet', versionInfo: '1.34.2', filesAnalyzed: true }),
        expect.objectContaining({ name: 'imago-agent', filesAnalyzed: false }),
      ]),
    });
  });

  it('of odd names and addresses is valid too', () => {
    const inventory = sampleInventory();
    expect(judge.cycloneDx(cycloneDxSbom(inventory, sampleSubject))).toEqual([]);
    expect(judge.spdx(spdxSbom(inventory, sampleSubject))).toEqual([]);
  });

  it('with a fault in it would be refused', () => {
    const bad = { ...(spdxSbom(first.inventory, sampleSubject) as object), packages: [{ name: 1 }] };
    expect(judge.spdx(bad)).not.toEqual([]);
    const worse = { ...(cycloneDxSbom(first.inventory, sampleSubject) as object), serialNumber: 'mine' };
    expect(judge.cycloneDx(worse)).not.toEqual([]);
  });
});

describe('a version in the store', () => {
  it('gets all of its records, signed provenance among them, and a second time nothing more', async () => {
    const keys = keyFolder(join(folder, 'keys'));
    await keys.create('2026-01-01T00:00:00.000Z');
    const key = await keys.load('2026-06-01T00:00:00.000Z');
    const notes = notesOf(first);
    const provenance = {
      image: 'node',
      version: '1.34.2',
      lock: notes.lock,
      tool: '0.1.0',
      toolVersions: { mke2fs: '1.47.2' },
      operation: 'op-1',
      startedAt: '2026-01-01T00:00:00.000Z',
      finishedAt: '2026-01-01T00:01:00.000Z',
      diskSha256: notes.diskSha256,
    };
    await attachRecords(store, first.digest, { notes, tool: '0.1.0', provenance, key });
    const attached = await store.referrers(first.digest);
    await attachRecords(store, first.digest, { notes, tool: '0.1.0', provenance, key });
    expect(await store.referrers(first.digest)).toEqual(attached);
    expect(attached.map(({ artifactType }) => artifactType)).toEqual(
      expect.arrayContaining(Object.values(recordTypes)),
    );

    expect(await loadInventory(store, first.digest)).toEqual(first.inventory);
    expect(await readRecord(store, first.digest, 'notes', 'text/markdown')).toContain('# node 1.34.2');
    const spdx: unknown = JSON.parse((await readRecord(store, first.digest, 'spdx')) ?? '');
    expect(judge.spdx(spdx)).toEqual([]);
    expect(JSON.stringify(spdx)).toContain('pkg:generic/kubelet@1.0.0');
    const statements = await verifyStatements(store, first.digest, await keys.keyring(), provenanceType);
    expect(statements[0]?.statement.predicate).toMatchObject({
      buildDefinition: { resolvedDependencies: [{ name: 'kubelet' }] },
    });
  });

  it('has what its tests measured in its notes once they ran, and the same again adds nothing', async () => {
    const tested = await seal('tested', { extra: [tarFile('etc/tested', 'x')] });
    const given = notesOf(tested);
    const recipe = { ...given.lock.recipe, budgets: { bootToReadyMs: 20_000 } };
    const notes = { ...given, lock: { ...given.lock, recipe } };
    await attachMeasures(store, tested.digest, { bootToReadyMs: 1 });
    expect(await store.referrers(tested.digest)).toEqual([]);
    await attachRecords(store, tested.digest, { notes, tool: '0.1.0' });
    await attachMeasures(store, tested.digest, { bootToReadyMs: 12_000 });
    const attached = await store.referrers(tested.digest);
    await attachMeasures(store, tested.digest, { bootToReadyMs: 12_000 });
    await attachRecords(store, tested.digest, { notes, tool: '0.1.0' });
    expect(await store.referrers(tested.digest)).toEqual(attached);
    expect(JSON.parse((await readRecord(store, tested.digest, 'notes')) ?? '')).toMatchObject({
      budgets: [{ name: 'boot to ready', actual: 12_000, isKept: true }],
    });
    const text = await readRecord(store, tested.digest, 'notes', 'text/markdown');
    expect(text).toContain('| boot to ready | 20.0 s | 12.0 s |  |');
  });

  it('that was never described has no records, and is read from its disk', async () => {
    const other = await seal('other', { extra: [tarFile('etc/other', 'x')] });
    expect(await readRecord(store, other.digest, 'notes')).toBeUndefined();
    expect(await loadInventory(store, other.digest)).toEqual(other.inventory);
  });
});

describe('a hotfix of one package', () => {
  it('is proven by the disks to have moved nothing else', async () => {
    const second = await seal('second', { runc: '1.1.16' });
    const diff = diffInventories(first.inventory, second.inventory);
    expect(diff.packages).toMatchObject([{ name: 'runc:amd64', fields: ['version', 'sourceVersion'] }]);
    expect(unintendedChanges(diff, { packages: ['runc'] })).toEqual([]);
  });

  it('that moved one more byte anywhere is found out', async () => {
    const third = await seal('third', { runc: '1.1.16', extra: [tarFile('etc/hostname', 'n')] });
    expect(
      unintendedChanges(diffInventories(first.inventory, third.inventory), { packages: ['runc'] }),
    ).toEqual(['file /etc/hostname is new']);
  });
});
