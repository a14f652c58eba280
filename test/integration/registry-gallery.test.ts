// A daemon whose gallery is in two registries: published, offered, withdrawn, as a user does it. The registries are asked by
// their own API.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRegistry, type TestRegistry } from '../support/docker-registry.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { tinyDisk } from '../support/tiny-disk.ts';

let imago: Imago;
let registries: readonly TestRegistry[];
const env = { IMAGO_PROVIDER: 'local' };

beforeAll(async () => {
  registries = [await startRegistry(), await startRegistry()];
  imago = await createImago();
  const regions = registries.map(({ host }, index) => `r${index}=${host}/images`).join(',');
  const up = await imago.run(['up', '--registry-regions', regions], { env });
  expect(up.code, up.err).toBe(0);
  await writeFile(join(imago.folder, 'disk.raw'), tinyDisk());
});
afterAll(async () => {
  await imago?.end();
  for (const registry of registries ?? []) await registry[Symbol.asyncDispose]();
});

const run = (...words: string[]) => imago.run(words, { env });

/** What each registry has under the name. */
function inRegistries(path: string): Promise<readonly (string | null)[]> {
  const accept = 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json';
  return Promise.all(
    registries.map(async ({ host }) => {
      const response = await fetch(`http://${host}/v2/images/disk/${path}`, { headers: { accept } });
      return response.headers.get('docker-content-digest');
    }),
  );
}

test('a version is published to both regions with what is attached to it, and a second time changes nothing', async () => {
  const imported = await imago.json<{ digest: string }>(
    ['image', 'import', join(imago.folder, 'disk.raw'), '--name', 'disk'],
    { env },
  );
  expect((await run('keys', 'create')).code).toBe(0);
  expect((await run('image', 'sign', 'disk:1.0.0')).code).toBe(0);
  const words = [
    'image',
    'publish',
    'disk:1.0.0',
    '--provider',
    'registry',
    '--region',
    'r0',
    '--region',
    'r1',
  ];
  const published = await run(...words);
  expect(published.code, published.err).toBe(0);
  expect(await inRegistries('manifests/1.0.0')).toEqual([imported.digest, imported.digest]);
  // These registries have no API for referrers, and clients fall back to a tag.
  const attached = await inRegistries(`manifests/${imported.digest.replace(':', '-')}`);
  expect(attached).toEqual([expect.stringMatching(/^sha256:/), expect.stringMatching(/^sha256:/)]);
  const again = await run(...words);
  expect(again.code, again.err).toBe(0);
});

test('regions that do not exist, and a registry that none is, are refused with what to do', async () => {
  const unknown = await run('image', 'publish', 'disk:1.0.0', '--provider', 'registry', '--region', 'mars');
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain('mars');
  const bad = await run('config', 'set', 'registry-regions', 'home');
  expect(bad.code).toBe(2);
  expect(bad.err).toContain('REGION=HOST/REPOSITORY');
  const pool = await run(
    'pool',
    'create',
    'web',
    '--image',
    'disk:1.0.0',
    '--provider',
    'registry',
    '--nodes',
    '1',
  );
  expect(pool.code, pool.err).toBe(4);
});
