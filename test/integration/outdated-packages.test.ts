// Packages of a disk against the signed index of their archive: what is behind, what of it is for security, and since
// when. apt itself says what it would upgrade.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBuilder } from '../../src/build/builder.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import {
  type ArchiveKey,
  archiveKey,
  makePackage,
  type PackageFile,
  serveArchive,
} from '../support/signed-archive.ts';
import { patience } from '../support/speed.ts';

let place: string;
let server: FileServer;
let key: ArchiveKey;

const published = 'Tue, 03 Nov 2026 10:00:00 GMT';

async function packages(...wanted: readonly (readonly [name: string, version: string])[]) {
  const made: PackageFile[] = [];
  for (const [name, version] of wanted) made.push(await makePackage(place, { name, version }));
  return made;
}

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'imago-outdated-'));
  server = await startFileServer();
  key = await archiveKey();
  const main = await packages(['openssl', '3.0-1'], ['bash', '5.2-1'], ['tar', '1.35-1']);
  const security = await packages(['openssl', '3.0-1+deb1'], ['openssl', '3.0-1+deb2']);
  await serveArchive(server, key, {
    noble: { main },
    'noble-updates': { main: await packages(['bash', '5.2-1+b1'], ['openssl', '3.0-2']) },
    'noble-security': { main: security },
  });
  for (const { file } of security) {
    const at = file.includes('deb1') ? published : new Date().toUTCString();
    server.files.set(`/${file.split('/').map(encodeURIComponent).join('/')}`, (_, response) =>
      response.writeHead(200, { 'last-modified': at }).end(),
    );
  }
}, patience(60_000));

afterAll(async () => {
  await server?.close();
  await key?.end();
  await rm(place, { recursive: true, force: true });
});

async function compare(installed: readonly { readonly name: string; readonly version: string }[]) {
  const builder = createBuilder({ cacheFolder: await mkdtemp(join(place, 'cache-')) });
  const base = {
    ...{ suite: 'noble', mirror: server.address, securityMirror: server.address },
    keys: [await readFile(key.armored, 'utf8')],
  };
  const call = { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 };
  return builder.tools.compareArchive({ base, architecture: 'x64' }, installed, call);
}

test('finds what is behind, and counts a security update from the first that is missing', async () => {
  const { behind, unlisted, suite, hasSecurity } = await compare([
    { name: 'openssl', version: '3.0-1' },
    { name: 'bash', version: '5.2-1' },
    { name: 'tar', version: '1.35-1' },
    { name: 'our-tool', version: '1.0' },
    { name: 'private input 1', version: '1.0' },
  ]);
  expect({ suite, hasSecurity, unlisted }).toEqual({
    suite: 'noble',
    hasSecurity: true,
    unlisted: ['our-tool'],
  });
  expect(behind).toEqual([
    {
      ...{ name: 'openssl', current: '3.0-1', newest: '3.0-2', security: true },
      since: new Date(published).toISOString(),
    },
    { name: 'bash', current: '5.2-1', newest: '5.2-1+b1', security: false },
  ]);
});

test('a disk that is ahead of the archive is not behind', async () => {
  const { behind } = await compare([
    { name: 'openssl', version: '1:1.0-1' },
    { name: 'bash', version: '5.2-1+b1' },
  ]);
  expect(behind).toEqual([]);
});

test('an index that no key of the archive signed is refused', async () => {
  const path = '/dists/noble-security/InRelease';
  const signed = server.files.get(path) as Buffer;
  server.files.set(path, Buffer.from(String(signed).replace('Origin: Test', 'Origin: Best')));
  await expect(compare([{ name: 'tar', version: '1.35-1' }])).rejects.toMatchObject({
    code: 'archive-untrusted',
  });
  server.files.set(path, signed);
});

test('of packages that were added, only those that no other one needs are named in a recipe', async () => {
  const more = [
    await makePackage(place, { name: 'tcpdump', fields: 'Depends: libpcap0.8\n' }),
    await makePackage(place, { name: 'libpcap0.8', fields: 'Depends: tcpdump-data\n' }),
    await makePackage(place, { name: 'tcpdump-data', fields: 'Depends: tcpdump\n' }),
  ];
  await serveArchive(server, key, {
    ...{ noble: { main: more }, 'noble-updates': { main: [] }, 'noble-security': { main: [] } },
  });
  const builder = createBuilder({ cacheFolder: await mkdtemp(join(place, 'cache-')) });
  const base = { suite: 'noble', mirror: server.address, keys: [await readFile(key.armored, 'utf8')] };
  const recipe = { name: 'node', architecture: 'x64', base, components: [], settings: {} } as never;
  const names = ['libpcap0.8', 'our-tool', 'tcpdump', 'tcpdump-data'];
  const packages = names.map((name) => ({ name, fields: [], after: { name, version: '1' } }));
  const diff = { packages, files: [], units: [], settings: [], containerImages: [], windows: [], sizes: [] };
  const { text } = await builder.tools.absorb(
    { recipe, text: 'name: node\n', diff: diff as never, skip: [], texts: async () => new Map() },
    { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 },
  );
  expect(text).toMatch(
    /^name: node\npackages:\n {2}- our-tool\n {2}- (?:tcpdump|tcpdump-data|libpcap0\.8)\n$/,
  );
});
