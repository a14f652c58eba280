// Container images from a registry and from the archives that other tools write, and an artifact that was pushed by
// others' tools: locked, fetched anew by the lock alone, and on the disk as they should be.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentFolder } from '../../src/build/content/content-folder.ts';
import { type FetchContext, fetchInputs, hasParts } from '../../src/build/fetch-inputs.ts';
import { createDownloader } from '../../src/build/inputs/download.ts';
import { localFiles } from '../../src/build/inputs/local-files.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import type { Inventory } from '../../src/inventory/model/inventory.ts';
import { type BuildFixture, buildFixture, firstBuildMs } from '../support/build-fixture.ts';
import { judge, startRegistry, type TestRegistry } from '../support/docker-registry.ts';
import { recipeText } from '../support/test-recipe.ts';

const program = '#!/bin/sh\necho exporter\n';

let fixture: BuildFixture;
let registry: TestRegistry;
let lock: Lock;
let inventory: Inventory;

/** The test recipe with other container images, and with components after its own. */
function recipe(images: string, components = ''): string {
  return recipeText.replace(/images:\n[\s\S]*?(?=settings:)/, `${components}images:\n${images}`);
}

function image(name: string, from: string): string {
  return `  - name: example.test/${name}\n    from:\n      ${from}\n`;
}

function exporter(more = ''): string {
  return [
    '  - name: exporter',
    '    version: 1.9.1',
    '    from:',
    `      oci: ${registry.host}/tools/exporter:\${version}`,
    '    to: /usr/lib/exporter',
    `${more}`,
  ].join('\n');
}

beforeAll(async () => {
  fixture = await buildFixture();
  registry = await startRegistry();
  const { folder } = fixture;
  const skopeo = await judge('skopeo');
  const copy = (to: string, ...flags: string[]) =>
    runTool(skopeo, ['--insecure-policy', 'copy', '--quiet', ...flags, `oci:${join(folder, 'hello')}:1`, to]);
  await copy(`docker://${registry.host}/hello:1`, '--dest-tls-verify=false');
  await copy(`docker-archive:${join(folder, 'docker.tar')}:example.test/saved:1`);
  await copy(`oci-archive:${join(folder, 'oci.tar')}:1`);
  const artifact = join(folder, 'artifact');
  await mkdir(join(artifact, 'share'), { recursive: true });
  await writeFile(join(artifact, 'exporter'), program);
  await writeFile(join(artifact, 'notes.txt'), 'notes\n');
  await writeFile(join(artifact, 'share', 'data'), 'data\n', { mode: 0o600 });
  const place = `${registry.host}/tools/exporter:1.9.1`;
  await runTool(
    await requireTool('oras'),
    ['push', '--plain-http', place, 'exporter', 'notes.txt:text/plain', 'share'],
    { folder: artifact },
  );
  const images = [
    image('pulled:1', `registry: ${registry.host}/hello:1`),
    image('saved:1', 'tar: docker.tar'),
    image('packed:1', 'tar: oci.tar'),
  ];
  lock = await fixture.lockText(recipe(images.join(''), exporter()));
  inventory = await fixture.inventory((await fixture.build(lock)).digest);
}, firstBuildMs);
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  await fixture?.end();
});

describe('on the disk', () => {
  it('every image stands under its name, with all of its content', () => {
    const images = inventory.containerImages;
    expect(images.map(({ name }) => name)).toEqual(
      ['packed', 'pulled', 'saved'].map((n) => `example.test/${n}:1`),
    );
    for (const { platform, sizeBytes } of images) {
      expect(platform).toBe('linux/amd64');
      expect(sizeBytes).toBeGreaterThan(500_000);
    }
  });

  it('the files of an artifact have their names and can be run; what is in its archives has its own mode', () => {
    const found = inventory.files.filter(
      ({ path, type }) => path.startsWith('/usr/lib/exporter/') && type === 'file',
    );
    expect(found.map(({ path, mode, size }) => [path, mode & 0o777, size])).toEqual([
      ['/usr/lib/exporter/exporter', 0o755, program.length],
      ['/usr/lib/exporter/notes.txt', 0o755, 'notes\n'.length],
      ['/usr/lib/exporter/share/data', 0o600, 'data\n'.length],
    ]);
  });
});

it('a mode in the recipe is that of the files of an artifact, and of no other', async () => {
  const changed = await fixture.lockText(
    recipe(image('packed:1', 'tar: oci.tar'), exporter('    mode: "0640"\n')),
  );
  const { files } = await fixture.inventory((await fixture.build(changed)).digest);
  const modes = new Map(files.map(({ path, mode }) => [path, mode & 0o777]));
  expect(modes.get('/usr/lib/exporter/exporter')).toBe(0o640);
  expect(modes.get('/usr/lib/exporter/share/data')).toBe(0o600);
});

describe('by the lock alone', () => {
  it('all parts come again into an empty cache, checked, and a second time none of them', async () => {
    const cache = join(fixture.folder, 'empty');
    const inputs = contentFolder(cache);
    const context: FetchContext = {
      ...{ inputs, downloads: createDownloader(cache, inputs), machine: 'amd64' },
      files: localFiles({ folder: fixture.folder }),
      mirrors: () => Promise.reject(new Error('no package is wanted')),
    };
    const wanted = lock.inputs.filter(({ source }) => hasParts(source));
    expect(wanted.map(({ source }) => source.replace(registry.host, 'HOST')).sort()).toEqual([
      'archive:docker.tar',
      'archive:oci.tar',
      'oci:HOST/hello:1',
      'oci:HOST/tools/exporter:1.9.1',
    ]);
    // Two of them are the same image.
    expect(await fetchInputs(wanted, context)).toBeGreaterThanOrEqual(3);
    expect(await fetchInputs(wanted, context)).toBe(0);
  });
});

describe('what is not there', () => {
  const lockOf = (from: string) => fixture.lockText(recipe(image('gone:404', from)));

  it('a tag that the registry does not have is told once, with the registry', async () => {
    await expect(lockOf(`registry: ${registry.host}/hello:404`)).rejects.toMatchObject({
      code: 'input-missing',
      message: `The container-image example.test/gone:404 cannot be had: ${registry.host} does not have it.`,
    });
  });

  it('a digest that the recipe fixes and the registry does not have', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    await expect(lockOf(`registry: ${registry.host}/hello:1\n      digest: ${digest}`)).rejects.toMatchObject(
      { code: 'input-missing' },
    );
  });

  it('an archive that holds no image', async () => {
    await expect(lockOf('tar: parts.tar')).rejects.toMatchObject({
      code: 'input-missing',
      message: expect.stringContaining('neither an OCI layout nor what docker saves'),
    });
  });
});
