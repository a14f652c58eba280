// The two shapes of examples with real programs of Kubernetes: one image for each patch, of which the second one is
// built here, and one image with two patches side by side.
import { cp, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { createBuilder, type ImageBuilder } from '../../src/build/builder.ts';
import { planLayers } from '../../src/build/layers/plan.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import type { InventoryFile } from '../../src/inventory/model/inventory.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { loadVariant } from '../support/build-child.ts';
import { call, inventoryOf, quiet, workFolder } from '../support/build-fixture.ts';
import { kubernetesMs, kubernetesVersions, testedKubernetes } from '../support/kubernetes.ts';
import { sharedBuildCache } from '../support/test-recipe.ts';

const examples = resolve(import.meta.dirname, '../../examples');

let folder: string;
let store: DiskStore;
let builder: ImageBuilder;
/** By `PROGRAM VERSION`. */
const sums = new Map<string, string>();

beforeAll(async () => {
  folder = await workFolder();
  await fetchTools({ group: 'disk' });
  for (const { program, version, sha256 } of await testedKubernetes())
    sums.set(`${program} ${version}`, sha256);
  const filter = (path: string) => !path.endsWith('/kubernetes');
  for (const name of ['common', 'node', 'side-by-side'])
    await cp(join(examples, name), join(folder, name), { recursive: true, filter });
  for (const name of ['node', 'side-by-side'])
    await symlink(kubernetesFolder(), join(folder, name, 'kubernetes'));
  store = await openDiskStore(join(folder, 'store'));
  builder = createBuilder({ cacheFolder: sharedBuildCache(), store });
}, kubernetesMs);
afterAll(async () => {
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});

async function lockOf(name: string, kubernetes?: string): Promise<Lock> {
  const recipe = join(folder, name, 'imago.yaml');
  const variant = await loadVariant({ recipe, ...(kubernetes && { kubernetes }) });
  return await builder.lock(variant, quiet, call);
}

/** The files of the disk by their paths. */
async function build(lock: Lock): Promise<ReadonlyMap<string, InventoryFile>> {
  const request = { lock, lockDigest: lockDigest(lock) };
  const { digest } = await builder.build(request, quiet, call);
  const { files } = await inventoryOf(store, digest, folder);
  return new Map(files.map((file) => [file.path, file]));
}

it('the second patch of the matrix has its own programs, and shares every layer but theirs and the last', async () => {
  const [first, second] = [
    await lockOf('node', kubernetesVersions[0]),
    await lockOf('node', kubernetesVersions[1]),
  ];
  const known = new Set(planLayers(first).map(({ key }) => key));
  const own = planLayers(second).filter(({ key }) => !known.has(key));
  expect(own.map(({ name }) => name)).toEqual(['component kubelet', 'component kubectl', 'configuration']);

  const files = await build(second);
  for (const program of ['kubelet', 'kubectl']) {
    const { sha256, mode } = files.get(`/usr/bin/${program}`) ?? {};
    expect(sha256).toBe(sums.get(`${program} 1.36.3`));
    expect((mode ?? 0) & 0o777).toBe(0o755);
  }
  expect(files.has('/etc/systemd/system/kubelet.service')).toBe(true);
  expect(files.get('/etc/containerd/config.toml')?.mode).toSatisfy(
    (mode: number) => (mode & 0o777) === 0o644,
  );
});

it('two patches stand side by side on one image, and its default is the one that is found', async () => {
  const files = await build(await lockOf('side-by-side'));
  for (const version of kubernetesVersions)
    expect(files.get(`/usr/lib/kubernetes/${version}/kubelet`)?.sha256).toBe(sums.get(`kubelet ${version}`));
  const link = files.get('/usr/bin/kubelet');
  expect(link?.type).toBe('symlink');
  expect(resolve('/usr/bin', link?.link ?? '')).toBe('/usr/lib/kubernetes/1.36.3/kubelet');
});
