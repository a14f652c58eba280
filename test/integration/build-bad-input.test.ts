// Bad input and bad luck while locking and building: each is told by a clear error, leaves nothing half made, and
// the next run succeeds.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultDownloadRules } from '../../src/build/inputs/download.ts';
import { planLayers } from '../../src/build/layers/plan.ts';
import { lockDigest, writeLockFile } from '../../src/build/lock/lock-file.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import type { Lock } from '../../src/domain/lock/lock.ts';
import { verifyDisk } from '../../src/oci/disks/verify-disk.ts';
import { type BuildFixture, buildFixture, call, firstBuildMs } from '../support/build-fixture.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { collect } from '../support/imago.ts';
import { canMount } from '../support/small-disk.ts';
import { patience } from '../support/speed.ts';
import { recipeText } from '../support/test-recipe.ts';

let fixture: BuildFixture;
let server: FileServer;

const downloadRules = {
  ...defaultDownloadRules,
  idleMs: patience(2000),
  maxBytes: 1_000_000,
  tries: 2,
  pauseMs: 10,
};

beforeAll(async () => {
  fixture = await buildFixture();
  server = await startFileServer();
}, firstBuildMs);
afterAll(async () => {
  await server?.close();
  await fixture?.end();
});

/** The test recipe whose tool comes from another source. */
function withTool(source: string, more = ''): string {
  return recipeText.replace('      file: tool\n', `      ${source}\n${more}`);
}

function lockText(text: string): Promise<Lock> {
  return fixture.lockText(text, fixture.builder({ downloadRules }));
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

describe('what is fetched', () => {
  it('a sha256 that differs is told with both', async () => {
    server.files.set('/other', 'other content');
    const expected = sha256('what was meant');
    const locking = lockText(withTool(`url: ${server.address}/other`, `      sha256: ${expected}\n`));
    const message = expect.stringMatching(`${sha256('other content')}.*${expected}`);
    await expect(locking).rejects.toMatchObject({ code: 'input-mismatch', message });
  });

  it('an address that answers 404 is an input that is missing, at once', async () => {
    server.asked.length = 0;
    await expect(lockText(withTool(`url: ${server.address}/nothing`))).rejects.toMatchObject({
      code: 'input-missing',
      message: expect.stringMatching(/tool 1\.0\.0.*404/),
    });
    expect(server.asked).toEqual(['/nothing']);
  });

  it('an address that answers 500 is tried again, then told', async () => {
    server.asked.length = 0;
    server.files.set('/broken', (_, response) => response.writeHead(500).end());
    await expect(lockText(withTool(`url: ${server.address}/broken`))).rejects.toMatchObject({
      code: 'download-failed',
      message: expect.stringContaining('500'),
    });
    expect(server.asked).toEqual(['/broken', '/broken']);
  });

  it('an address that stops answering is given up', async () => {
    server.files.set('/slow', (_, response) => response.writeHead(200).write('a beginning'));
    await expect(lockText(withTool(`url: ${server.address}/slow`))).rejects.toMatchObject({
      code: 'download-failed',
      message: expect.stringContaining('nothing came'),
    });
  });

  it('a body without an end is cut off at the limit', async () => {
    server.files.set('/endless', (_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      more();
    });
    await expect(lockText(withTool(`url: ${server.address}/endless`))).rejects.toMatchObject({
      code: 'input-mismatch',
      message: expect.stringContaining('larger than'),
    });
  });

  it('a download that was cut off goes on where it stopped', async () => {
    const content = Buffer.alloc(600_000, 'content ');
    const ranges: (string | undefined)[] = [];
    server.files.set('/cut', (request, response) => {
      ranges.push(request.headers.range);
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const headers = { etag: '"one"', 'content-length': content.length - from };
      if (from > 0) {
        const range = `bytes ${from}-${content.length - 1}/${content.length}`;
        response.writeHead(206, { ...headers, 'content-range': range }).end(content.subarray(from));
      } else {
        response.writeHead(200, headers).write(content.subarray(0, 300_000), () => response.destroy());
      }
    });
    const lock = await lockText(withTool(`url: ${server.address}/cut`));
    expect(lock.inputs.find(({ name }) => name === 'tool')?.sha256).toBe(sha256(content));
    expect(ranges.length).toBe(2);
    expect(ranges[1]).toMatch(/^bytes=[1-9]/);
  });

  it('a private input is named nowhere in its error', async () => {
    const text = withTool(`url: ${server.address}/very-secret`).replace(
      '  - name: parts\n',
      '    private: true\n  - name: parts\n',
    );
    const failure = await lockText(text).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'input-missing' });
    expect(String(failure)).not.toMatch(/very-secret|tool/);
  });
});

describe('packages', () => {
  it('one that does not exist is told with near names', async () => {
    await expect(lockText(recipeText.replace('  - runc', '  - runcc'))).rejects.toMatchObject({
      code: 'package-not-found',
      message: expect.stringContaining('runcc'),
      hint: expect.stringContaining('runc'),
    });
  });

  it('a version that the archive does not have is told with those that it has', async () => {
    const text = recipeText.replace('  - runc', '  - name: runc\n    version: 0.0.1');
    await expect(lockText(text)).rejects.toMatchObject({
      code: 'package-not-found',
      message: expect.stringMatching(/runc \d+\..* not 0\.0\.1/),
    });
  });

  it('one that is gone from mirror and cache is told by its name before anything is built', async () => {
    const gone = fixture.lock.inputs.find(({ name }) => name === 'runc');
    const layer = planLayers(fixture.lock).find(({ packages = [] }) => packages.some((one) => one === gone));
    const paths = [
      join(fixture.cache, 'content', 'keys', `${layer?.key}.json`),
      join(fixture.cache, 'content', gone?.sha256.slice(0, 2) ?? '', gone?.sha256 ?? ''),
    ];
    for (const path of paths) await rename(path, `${path}.away`);
    const builder = fixture.builder({ mirror: server.address, downloadRules });
    try {
      await expect(fixture.build(fixture.lock, builder)).rejects.toMatchObject({
        code: 'input-missing',
        message: expect.stringContaining(`runc ${gone?.version}`),
      });
    } finally {
      for (const path of paths) await rename(`${path}.away`, path);
    }
  });
});

describe('archives', () => {
  async function lockArchive(items: Iterable<TarItem>): Promise<Lock> {
    await writeFile(join(fixture.folder, 'parts.tar'), gzipSync(await buffer(writeTar(items)), { level: 1 }));
    return lockText(recipeText);
  }
  afterAll(restoreParts);
  const unsafe: readonly [string, TarItem][] = [
    ['a path that leads out', tarFile('parts/../../../etc/passwd', 'x')],
    ['an absolute path', tarFile('/etc/passwd', 'x')],
    ['a link that leads out', { entry: tarEntry('parts/link', { type: 'symlink', link: '../../etc' }) }],
    ['an absolute link', { entry: tarEntry('parts/link', { type: 'symlink', link: '/etc/shadow' }) }],
    ['a device', { entry: tarEntry('parts/null', { type: 'character', device: { major: 1, minor: 3 } }) }],
  ];
  it.each(unsafe)('with %s is refused', async (_, item) => {
    await expect(lockArchive([item])).rejects.toMatchObject({ code: 'tar-unsafe' });
  });

  it('with a million entries is refused at the limit', async () => {
    const { value: header = '' } = await writeTar([{ entry: tarEntry('one') }]).next();
    const many = Buffer.alloc(512 * 1_000_000, header);
    await writeFile(join(fixture.folder, 'parts.tar'), gzipSync(many, { level: 1 }));
    await expect(lockText(recipeText)).rejects.toMatchObject({ code: 'tar-limit' });
  });

  it('that would unpack to more than is allowed is refused before it is read', async () => {
    const entry = tarEntry('bomb', { size: 2 ** 36 });
    const { value: header } = await writeTar([{ entry }]).next();
    await writeFile(join(fixture.folder, 'parts.tar'), header ?? '');
    await expect(lockText(recipeText)).rejects.toMatchObject({ code: 'tar-limit' });
  });

  it('that is cut off is refused', async () => {
    const whole = gzipSync(await buffer(writeTar([tarFile('parts-1/part', Buffer.alloc(100_000, 'x'))])));
    await writeFile(join(fixture.folder, 'parts.tar'), whole.subarray(0, whole.length - 40));
    await expect(lockText(recipeText)).rejects.toMatchObject({ code: 'tar-invalid' });
  });
});

describe('two components with one file', () => {
  /** The test recipe whose folder brings one more file to another place. */
  async function buildTree(to: string, name: string): Promise<unknown> {
    const file = join(fixture.folder, 'tree', name);
    await writeFile(file, 'of the folder');
    try {
      return await fixture.build(await lockText(recipeText.replace('to: /usr/share/tree', `to: ${to}`)));
    } finally {
      await rm(file);
    }
  }

  it.each([
    ['a folder and an archive', '/usr/local/bin', 'part', 'parts and tree both bring /usr/local/bin/part.'],
    [
      'a folder and a file',
      '/usr/local/bin',
      'tool',
      /^components\.0\.to: tool would replace a file of tree: \/usr\/local\/bin\/tool \(components\.2\.to: /,
    ],
    ['a folder and Imago itself', '/etc', 'imago-release', /^tree brings \/etc\/imago-release, where Imago/],
  ])('%s are refused by name, and nothing stays', async (_, to, name, says) => {
    const message = typeof says === 'string' ? says : expect.stringMatching(says);
    await expect(buildTree(to, name)).rejects.toMatchObject({ code: 'recipe-invalid', message });
    expect(await readdir(join(fixture.cache, 'work'))).toEqual([]);
  });
});

describe('disks', () => {
  const mebibyte = 1024 * 1024;
  const ofSize = (size: number) => lockText(recipeText.replace('size: 1536MiB', `size: ${size}MiB`));

  it('one that is too small is told before the build, with a size that is enough', async () => {
    const lock = await ofSize(300);
    const before = await readdir(join(fixture.cache, 'content', 'keys'));
    const error = await fixture.build(lock).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'disk-too-small',
      details: { needBytes: expect.any(Number), haveBytes: 300 * mebibyte },
    });
    expect(await readdir(join(fixture.cache, 'content', 'keys'))).toEqual(before);
    const { needBytes } = (error as { details: { needBytes: number } }).details;
    expect((await fixture.build(await ofSize(needBytes / mebibyte))).sizeBytes).toBe(needBytes);
  });

  it('a budget that is exceeded is told with both sizes', async () => {
    const lock = await lockText(`${recipeText}budgets:\n  size: 50MiB\n`);
    await expect(fixture.build(lock)).rejects.toMatchObject({
      code: 'budget-exceeded',
      message: expect.stringContaining('50 MiB'),
    });
  });
});

describe('the cache', () => {
  /** In place of the file: it may be shared with the cache of other tests. */
  async function flip(path: string): Promise<void> {
    const bytes = await readFile(path);
    const middle = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
    await writeFile(`${path}.flipped`, bytes);
    await rename(`${path}.flipped`, path);
  }

  it('a damaged layer is made anew, a lost record costs only the build, and the disk is the same', async () => {
    const expected = await fixture.build(fixture.lock);
    const layer = planLayers(fixture.lock).find(({ name }) => name === 'component tree');
    const record = JSON.parse(
      await readFile(join(fixture.cache, 'content', 'keys', `${layer?.key}.json`), 'utf8'),
    ) as { readonly sha256: string };
    await flip(join(fixture.cache, 'content', record.sha256.slice(0, 2), `${record.sha256}.tar`));
    await rm(join(fixture.cache, 'records', 'sealed'), { recursive: true });
    expect(await fixture.builder().find(lockDigest(fixture.lock), call)).toBeUndefined();
    const again = await fixture.build(fixture.lock);
    expect(again.made).toContain('component tree');
    expect(again.diskDigest).toBe(expected.diskDigest);
  });

  function inputPath(hex: string): string {
    return join(fixture.cache, 'content', hex.slice(0, 2), hex);
  }

  async function toolOn(digest: string): Promise<string | undefined> {
    const { files } = await fixture.inventory(digest);
    return files.find(({ path }) => path.endsWith('usr/local/bin/tool'))?.sha256;
  }

  it('an input that is damaged after it was locked is noticed by the same builder and fetched anew', async () => {
    const content = 'an input that is damaged later';
    server.files.set('/input', content);
    const builder = fixture.builder();
    const lock = await fixture.lockText(withTool(`url: ${server.address}/input`), builder);
    await flip(inputPath(sha256(content)));
    server.asked.length = 0;
    const { made, digest } = await fixture.build(lock, builder);
    expect(server.asked).toEqual(['/input']);
    expect(made).toContain('component tool');
    expect(await toolOn(digest)).toBe(sha256(content));
  });
});

describe.runIf(canMount)('no space left', () => {
  const script = 'mkdir -p "$1"; mount -t tmpfs -o size="$2" none "$1"; shift 2; exec "$@"';

  /** Builds the test recipe in a process that has only so much space in one folder. */
  async function buildWithin(folder: string, size: string): Promise<unknown> {
    await writeFile(join(fixture.folder, 'imago.yaml'), recipeText.replace('ip_forward: 1', 'ip_forward: 3'));
    await writeFile(join(fixture.folder, 'imago.lock'), writeLockFile(fixture.lock.recipe, [fixture.lock]));
    const recipe = join(fixture.folder, 'imago.yaml');
    const job = JSON.stringify({ recipe, cache: fixture.cache, store: join(fixture.folder, 'small') });
    const within = ['--mount', '--propagation', 'private', 'sh', '-euc', script, 'sh', folder, size];
    const words = [...within, process.execPath, 'test/support/build-child.ts', job];
    const { out } = await collect(spawn('unshare', words, { stdio: ['ignore', 'pipe', 'ignore'] }));
    await rm(join(fixture.folder, 'imago.lock'));
    return JSON.parse(out);
  }

  it.each([
    ['while layers are unpacked', 'cache/work', '60m'],
    ['while the disk is sealed', 'small', '20m'],
  ])('%s is told, and nothing stays', async (_, folder, size) => {
    const outcome = await buildWithin(join(fixture.folder, folder), size);
    expect(outcome).toMatchObject({ error: { code: 'no-space' } });
    expect(await readdir(join(fixture.cache, 'work')).catch(() => [])).toEqual([]);
  });
});

it('a build that is cancelled stops, leaves no folder of its own, and the next one succeeds', async () => {
  const lock = await lockText(recipeText.replace('ip_forward: 1', 'ip_forward: 0'));
  const control = new AbortController();
  const progress = {
    progress(_: number, __: number, sentence: string) {
      if (sentence.startsWith('assembling')) control.abort();
    },
    log() {},
  };
  const request = { lock, lockDigest: lockDigest(lock) };
  const building = fixture.builder().build(request, progress, { ...call, signal: control.signal });
  await expect(building).rejects.toMatchObject({ code: 'cancelled' });
  expect(await readdir(join(fixture.cache, 'work'))).toEqual([]);
  expect((await fixture.build(lock)).digest).toMatch(/^sha256:/);
});

it('two who ask for one lock at the same time share one build', async () => {
  const lock = await lockText(recipeText.replace('ip_forward: 1', 'ip_forward: 2'));
  const builder = fixture.builder();
  const [one, two] = await Promise.all([fixture.build(lock, builder), fixture.build(lock, builder)]);
  expect(two.digest).toBe(one.digest);
  expect([one.made.length, two.made.length].sort()).toEqual([0, one.made.length + two.made.length]);
});

it('after all of this there is nothing half made', async () => {
  expect(await readdir(join(fixture.cache, 'work'))).toEqual([]);
  expect(await readdir(join(fixture.cache, 'temporary')).catch(() => [])).toEqual([]);
  const [version] = await fixture.store.list();
  expect(version && (await verifyDisk(fixture.store, version.digest))).toMatchObject({ damages: [] });
});

async function restoreParts(): Promise<void> {
  const items = [tarFile('parts-1/bin/part', '#!/bin/sh\n', { mode: 0o755, mtime: 5 })];
  await writeFile(join(fixture.folder, 'parts.tar'), await buffer(writeTar(items)));
}
