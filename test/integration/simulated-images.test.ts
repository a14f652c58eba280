// What a simulation made stays apart from what is real: in the catalog, in its channels, and on a host without QEMU.
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { createProduct } from '../support/product.ts';
import { administer, digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

describe('the catalog', () => {
  let bench: StoreBench;
  beforeAll(async () => {
    bench = await startStoreBench();
  });
  afterAll(() => bench.stop());

  const image = { name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' } as const;

  function add({ catalogue }: Store, version: string, simulated?: true) {
    return catalogue.addVersion({
      ...{ image: 'node', version, digest: digestOf(version), diskDigest: digestOf(0), sizeBytes: 1 },
      ...{ origin: { kind: 'imported', from: 'x' }, operation: `op-${version}` },
      ...(simulated && { simulated }),
    });
  }

  test('marks every record of a simulated image', async () => {
    const store = await bench.freshStore();
    const { catalogue } = store;
    await catalogue.ensureImage({ ...image, simulated: true });
    expect(await add(store, '1.0.0', true)).toMatchObject({ simulated: true });
    expect(await catalogue.getImage('node')).toMatchObject({ simulated: true });
    for (const channel of await catalogue.listChannels('node')) expect(channel.simulated).toBe(true);
    const made = { image: 'node', name: 'beta', forTesting: true, public: false };
    expect(await catalogue.createChannel(made)).toMatchObject({ simulated: true });
    expect(await catalogue.resolve('node:1.0.0')).toMatchObject({ simulated: true });
    await catalogue.moveChannel({ image: 'node', channel: 'staging', to: '1.0.0', by: 'a', why: 'b' });
    expect(await catalogue.resolve('node:staging')).toMatchObject({ simulated: true });
  });

  test.each([
    [true, undefined],
    [undefined, true],
  ] as const)('keeps an image of kind %s to that kind from its first version on', async (first, second) => {
    const store = await bench.freshStore();
    const { catalogue } = store;
    await catalogue.ensureImage({ ...image, ...(second && { simulated: second }) });
    // No version exists yet, so the kind is still open.
    await catalogue.ensureImage({ ...image, ...(first && { simulated: first }) });
    await add(store, '1.0.0', first);
    const again = catalogue.ensureImage({ ...image, ...(second && { simulated: second }) });
    await expect(again).rejects.toMatchObject({ code: 'simulation-mixed', exitCode: 4 });
    await expect(add(store, '1.0.1', second)).rejects.toMatchObject({ code: 'simulation-mixed' });
  });

  test('holds in the database, whoever writes', async () => {
    const url = await bench.freshDatabase();
    const store = await bench.freshStore({ url });
    await seedImage(store, 'node', 1);
    await store.catalogue.ensureImage({ ...image, name: 'made-up', simulated: true });
    for (const statement of [
      `update imago.images set simulated = true where name = 'node'`,
      `update imago.versions set simulated = true where image = 'node'`,
      `update imago.channels set simulated = true where image = 'node'`,
      `insert into imago.evidence (digest, kind, passed, summary, details, given_by, simulated, at)
       select digest, 'test', true, 'made up', '{}', 'x', true, now() from imago.versions`,
    ]) {
      await expect(administer(url, statement), statement).rejects.toThrow();
    }
    expect(await store.catalogue.getVersion('node', '1.0.0')).not.toHaveProperty('simulated');
  });

  test('takes no simulated test as evidence for a real version', async () => {
    const product = await createProduct(await bench.freshStore());
    await seedImage(product.store, 'node', 1, 'candidate');
    const request = { kind: 'test', subject: 'image/node:1.0.0', input: { reference: 'node:1.0.0' } };
    const { state, error, exceptions } = await product.run(request);
    expect({ state, exceptions, message: error?.message }).toEqual({
      state: 'failed',
      exceptions: [],
      message: 'node:1.0.0 is real, and provider sim is simulated.',
    });
    expect(await product.store.catalogue.getVersion('node', '1.0.0')).toMatchObject({ state: 'candidate' });
    await product.close();
  });
});

test('a run with fewer kinds of firmware than the image declares is evidence and nothing more', async () => {
  const bench = await startStoreBench();
  const product = await createProduct(await bench.freshStore());
  try {
    const { catalogue } = product.store;
    const input = { recipe: { name: 'node', components: [], settings: {} } };
    await product.run({ kind: 'build', subject: 'image/node', input });
    const subject = 'image/node:1.0.0';
    const state = async () => (await catalogue.getVersion('node', '1.0.0'))?.state;
    const tested = (firmware?: string[]) =>
      product.run({
        kind: 'test',
        subject,
        input: { reference: 'node:1.0.0', ...(firmware && { firmware }) },
      });
    for (const firmware of [['uefi'], ['bios'], ['direct']]) {
      expect(await tested(firmware)).toMatchObject({ state: 'succeeded' });
      expect(await state()).toBe('candidate');
    }
    const digest = (await catalogue.getVersion('node', '1.0.0'))?.digest ?? '';
    expect(await catalogue.listEvidence(digest)).toHaveLength(3);
    const early = catalogue.setVersionState('node', '1.0.0', 'available', { by: 'x' });
    await expect(early).rejects.toMatchObject({ code: 'version-untested' });
    expect(await tested(['uefi', 'bios'])).toMatchObject({ state: 'succeeded' });
    expect(await state()).toBe('available');
  } finally {
    await product.close();
    await bench.stop();
  }
});

describe('a host without QEMU', () => {
  let imago: Imago;
  let env: Record<string, string>;
  beforeAll(async () => {
    imago = await createImago();
    const bin = join(imago.folder, 'bin');
    await mkdir(bin);
    const seen = new Set<string>();
    for (const folder of (process.env.PATH ?? '').split(':')) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (name.startsWith('qemu') || seen.has(name)) continue;
        seen.add(name);
        await symlink(join(folder, name), join(bin, name));
      }
    }
    env = { PATH: bin, IMAGO_PROVIDER: '' };
    await imago.writeFile('imago.yaml', recipe);
  });
  afterAll(() => imago.end());

  test('refuses to release or to make a pool, and names what to install and the simulation', async () => {
    const { code, err } = await imago.run(['release', '--reason', 'weekly'], { env });
    expect(err).toMatch(/Provider local has no machines[\s\S]*Install QEMU[\s\S]*--provider sim/);
    expect(code).toBe(4);
    expect(await imago.json(['image', 'list'], { env })).toMatchObject({ items: [] });
  });

  test('simulates when it is asked to, and marks what comes of it', async () => {
    const words = ['release', '--provider', 'sim', '--reason', 'try'];
    await imago.json(words, { env });
    const { items } = await imago.json<{ items: object[] }>(['image', 'list', 'node'], { env });
    expect(items).toMatchObject([{ state: 'available', simulated: true }]);
    expect(await imago.json(['resolve', 'node:production'], { env })).toMatchObject({ simulated: true });
    expect((await imago.run(['image', 'list'], { env })).out).toContain('simulated');
    expect((await imago.run(['channel', 'list', 'node'], { env })).out).toContain('simulated');
    expect((await imago.run(['image', 'show', 'node:production'], { env })).out).toMatch(/simulated +yes/);
    const real = await imago.run(['build', '--provider', 'local'], { env });
    expect(real.err).toContain('The new version is real, and image node is simulated.');
    expect(real.code).toBe(4);
    const pool = await imago.run(['pool', 'create', 'web', '--image', 'node:production', '--nodes', '1'], {
      env,
    });
    expect(pool.code).toBe(4);
  });
});
