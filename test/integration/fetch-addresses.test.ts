// What a recipe or a reference can make the daemon connect to: not what only this host can reach, neither directly nor
// by way of a redirect, a sign-in, or a name.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBuilder } from '../../src/build/builder.ts';
import { contentFolder } from '../../src/build/content/content-folder.ts';
import { isIndexCurrent } from '../../src/build/debian/index-state.ts';
import { createDownloader, defaultDownloadRules } from '../../src/build/inputs/download.ts';
import { addressGuard, type Resolve } from '../../src/host/network/address-guard.ts';
import { RegistryClient } from '../../src/oci/registry/client.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { sampleLock } from '../support/inventory.ts';
import { patience } from '../support/speed.ts';

let folder: string;
let server: FileServer;
let port: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-addresses-'));
  server = await startFileServer();
  port = new URL(server.address).port;
  server.files.set('/secret', 'what only this host can read');
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** `public.test` is allowed and `evil.test` is not; both are this host. */
const resolve: Resolve = (_, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]);
const guard = () => addressGuard({ allow: ['public.test'], refusePrivate: true }, resolve);
const refused = { code: 'address-refused', hint: expect.stringContaining('allow-addresses') };

function download(url: string) {
  const downloads = createDownloader(folder, contentFolder(folder), defaultDownloadRules, guard());
  return downloads.fetch({ url, label: 'The tool' });
}

function redirect(to: string): void {
  server.files.set('/start', (_, response) => response.writeHead(302, { location: to }).end());
}

describe('a download', () => {
  test('of an allowed host comes, also by a redirect', async () => {
    redirect('/secret');
    expect(await download(`http://public.test:${port}/start`)).toMatchObject({ sizeBytes: 28 });
  });

  test.each(['127.0.0.1', 'evil.test', '[::1]', '2130706433'])('of %s is refused', async (host) => {
    await expect(download(`http://${host}:${port}/secret`)).rejects.toMatchObject(refused);
    expect(server.asked).toEqual([]);
  });

  test.each(['http://127.0.0.1:PORT/secret', 'http://evil.test:PORT/secret', 'http://169.254.169.254/'])(
    'that is redirected to %s is refused',
    async (to) => {
      redirect(to.replace('PORT', port));
      await expect(download(`http://public.test:${port}/start`)).rejects.toMatchObject(refused);
      expect(server.asked).toEqual(['/start']);
    },
  );

  test('that is redirected without end fails', async () => {
    redirect('/start');
    const rules = { ...defaultDownloadRules, tries: 1 };
    const downloads = createDownloader(folder, contentFolder(folder), rules, guard());
    const fetching = downloads.fetch({ url: `http://public.test:${port}/start`, label: 'The tool' });
    await expect(fetching).rejects.toMatchObject({ code: 'download-failed' });
  });
});

describe('a registry', () => {
  const pull = (host: string) =>
    new RegistryClient({ registry: `${host}:${port}`, plainHttp: true, guard: guard() }).manifest(
      'a',
      'latest',
    );

  test.each(['127.0.0.1', 'evil.test'])('at %s is refused', async (host) => {
    await expect(pull(host)).rejects.toMatchObject(refused);
    expect(server.asked).toEqual([]);
  });

  test('cannot send its client on to another address', async () => {
    server.files.set('/v2/a/manifests/latest', (_, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${port}/secret` }).end(),
    );
    await expect(pull('public.test')).rejects.toMatchObject(refused);
    expect(server.asked).not.toContain('/secret');
  });

  test('cannot attach manifests without end', async () => {
    const digest = `sha256:${'a'.repeat(64)}` as const;
    const entry = (number: number) => ({
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      digest: `sha256:${number.toString(16).padStart(64, '0')}`,
      size: 1,
    });
    let page = 0;
    server.files.set(`/v2/a/referrers/${digest}`, (_, response) => {
      page += 1;
      const manifests = Array.from({ length: 200 }, (__, index) => entry(page * 1000 + index));
      const type = 'application/vnd.oci.image.index.v1+json';
      response.writeHead(200, { 'content-type': type, link: `</v2/a/referrers/${digest}>; rel="next"` });
      response.end(JSON.stringify({ schemaVersion: 2, mediaType: type, manifests }));
    });
    const client = new RegistryClient({ registry: `public.test:${port}`, plainHttp: true, guard: guard() });
    await expect(client.referrers('a', digest)).rejects.toMatchObject({
      code: 'registry-failed',
      retryable: false,
    });
    expect(page).toBe(3);
  });

  test('cannot have its client sign in at another address', async () => {
    server.files.set('/v2/a/manifests/latest', (_, response) =>
      response.writeHead(401, { 'www-authenticate': `Bearer realm="http://127.0.0.1:${port}/secret"` }).end(),
    );
    await expect(pull('public.test')).rejects.toMatchObject(refused);
    expect(server.asked.filter((path) => path.startsWith('/secret'))).toEqual([]);
  });
});

test('a mirror that a recipe names follows the same rules', async () => {
  const { recipe } = sampleLock({ components: [], settings: {} });
  const mirror = `http://127.0.0.1:${port}/debian`;
  const builder = createBuilder({ cacheFolder: folder, guard: guard() });
  const call = { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 };
  const quiet = { progress() {}, log() {} };
  const locking = builder.lock({ ...recipe, base: { mirror } } as never, quiet, call);
  await expect(locking).rejects.toMatchObject(refused);
  expect(server.asked).toEqual([]);
});

test('a mirror that a recipe names cannot send apt on to another address', async () => {
  const { recipe } = sampleLock({ components: [], settings: {} });
  for (const suite of ['trixie', 'trixie-updates']) {
    server.files.set(`/archive/dists/${suite}/InRelease`, (_, response) =>
      response.writeHead(302, { location: `http://localhost:${port}/secret` }).end(),
    );
  }
  const allowed = addressGuard({ allow: ['127.0.0.1'], refusePrivate: true });
  const builder = createBuilder({ cacheFolder: folder, guard: allowed });
  const call = { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 };
  const base = { mirror: `http://127.0.0.1:${port}/archive`, suite: 'trixie' };
  const locking = builder.lock({ ...recipe, base } as never, { progress() {}, log() {} }, call);
  await expect(locking).rejects.toMatchObject({ code: 'archive-untrusted' });
  expect(server.asked).toContain('/archive/dists/trixie/InRelease');
  expect(server.asked).not.toContain('/secret');
});

describe('the check whether an index is current', () => {
  const text = 'Suite: trixie\n';
  async function check(address: string) {
    await mkdir(join(folder, 'lists'));
    await writeFile(join(folder, 'lists', 'trixie_InRelease'), text);
    return isIndexCurrent(join(folder, 'lists'), [address], { now: Date.now(), guard: guard() });
  }

  test('reads an allowed address', async () => {
    server.files.set('/InRelease', text);
    expect(await check(`http://public.test:${port}/InRelease`)).toBe(true);
  });

  test('does not follow a redirect to a refused address', async () => {
    server.files.set('/secret', text);
    redirect(`http://127.0.0.1:${port}/secret`);
    expect(await check(`http://public.test:${port}/start`)).toBe(false);
    expect(server.asked).toEqual(['/start']);
  });

  test('stops reading an answer without end', async () => {
    let sent = 0;
    server.files.set('/InRelease', (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 'x'))) sent += 64 * 1024;
      };
      response.on('drain', more);
      more();
    });
    expect(await check(`http://public.test:${port}/InRelease`)).toBe(false);
    expect(sent).toBeLessThan(32 * 1024 ** 2);
  });
});
