// The copy of a node's disk becomes a version of the store: cleaned, scanned, and stored only if the scan found nothing.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type TarItem, tarEntry, tarFile } from '../../src/disk/tar/writer.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { imageRecords } from '../../src/image-store/records.ts';
import { sealCaptured } from '../../src/image-store/seal-captured.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import { linuxRoot, makeDisk } from '../support/donor-disk.ts';
import { makeExt4Image } from '../support/ext4-image.ts';

const key = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const body = key.split('\n')[1] ?? '';
const system: Readonly<Record<string, string>> = {
  'etc/fstab': '# none\n',
  'etc/passwd': 'root:x:0:0::/root:/bin/sh\n',
  'usr/share/doc/example.key': key,
};

let folder: string;
let store: DiskStore;
let parent: string;
const watch = { signal: new AbortController().signal, progress: () => undefined, log: () => undefined };

beforeAll(() => fetchTools({ group: 'disk' }));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-seal-'));
  store = await openDiskStore(join(folder, 'store'));
  parent = (await putDisk(store, await disk('parent', system))).digest;
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function disk(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const paths = Object.keys(files);
  const folders = new Set(
    paths.flatMap((path) => {
      const names = path.split('/').slice(0, -1);
      return names.map((_, index) => names.slice(0, index + 1).join('/'));
    }),
  );
  const items: TarItem[] = [
    { entry: tarEntry('', { type: 'directory' }) },
    ...[...folders].sort().map((path) => ({ entry: tarEntry(path, { type: 'directory' }) })),
    ...paths.map((path) => tarFile(path, files[path] ?? '')),
  ];
  const file = await makeExt4Image(folder, `${name}-root`, items, {
    ...{ megabytes: 16, features: '64bit,metadata_csum' },
  });
  return (await makeDisk(folder, name, [{ type: linuxRoot, file }])).path;
}

function seal(path: string) {
  const context = { store: async () => store, workFolder: join(folder, 'work') };
  return sealCaptured(context, { path, image: 'web-prototype', parent }, watch);
}

it('stores the patches of a node without its identity, and shares the rest with the parent', async () => {
  const path = await disk('donor', {
    ...system,
    'etc/machine-id': 'identity-of-the-donor\n',
    'etc/ssh/ssh_host_ed25519_key': 'host-key-of-the-donor\n',
    'var/lib/kubelet/kubeconfig': 'credentials-of-the-donor\n',
    'usr/bin/patched': 'patched binary\n',
  });
  const captured = await seal(path);
  expect(captured.cleaned).toBeGreaterThanOrEqual(3);
  const copy = join(folder, 'copy');
  await extractDisk(store, parseDigest(captured.digest), copy, {});
  const bytes = await readFile(copy);
  expect(bytes.includes('patched binary')).toBe(true);
  for (const text of ['identity-of-the', 'host-key-of-the', 'credentials-of-the'])
    expect(bytes.includes(text)).toBe(false);
});

it('a secret that the parent does not have stops it, by its path and without its content', async () => {
  const path = await disk('donor', { ...system, 'opt/app/server.pem': key });
  const stored = await store.list();
  const error = await seal(path).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'capture-unsafe' });
  expect(String(error)).toContain('/opt/app/server.pem');
  expect(String(error)).not.toContain(body);
  expect(await store.list()).toEqual(stored);
});

it('the same key as in the parent at another path is a secret of the node', async () => {
  const path = await disk('donor', { ...system, 'root/copied.key': key });
  await expect(seal(path)).rejects.toMatchObject({ code: 'capture-unsafe' });
});

it('a disk that is larger than its system made use of ends where its partition table does', async () => {
  const path = await disk('donor', { ...system, 'usr/bin/patched': 'patched binary\n' });
  const { size } = await stat(path);
  await truncate(path, size * 2);
  expect((await seal(path)).sizeBytes).toBe(size);
});

it('what it has in addition to its parent is found on the sealed disks, with the text of its files', async () => {
  const os = { 'etc/os-release': 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n' };
  const status = (name: string) =>
    `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0-1\n\n`;
  const dpkg = 'var/lib/dpkg/status';
  parent = (await putDisk(store, await disk('base', { ...system, ...os, [dpkg]: status('bash') }))).digest;
  const { digest } = await seal(
    await disk('donor', {
      ...{ ...system, ...os, [dpkg]: status('bash') + status('tcpdump') },
      ...{ 'etc/motd.d/shop': 'Welcome.\n', 'opt/tool': '\0\0' },
    }),
  );
  const context = { store: async () => store, workFolder: join(folder, 'work'), now: Date.now };
  const records = imageRecords(context as never, { read: async () => undefined });
  const { diff } = await records.diff(parent, digest, watch.signal);
  expect(diff).toMatchObject({ packages: [{ name: 'tcpdump:amd64' }] });
  const paths = ['/etc/motd.d/shop', '/opt/tool', '/etc/nothing', '/etc'];
  expect([...(await records.texts(digest, paths))]).toEqual([['/etc/motd.d/shop', 'Welcome.\n']]);
  const { packages, distribution } = await records.packages(digest, watch.signal);
  expect([distribution, packages.map(({ name }) => name)]).toEqual(['debian', ['bash', 'tcpdump']]);
});
