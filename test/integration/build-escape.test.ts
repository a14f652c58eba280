// A hostile package in a real build: its maintainer script tries to get out of the sandbox, to take the host's processes
// and memory, and to fill its disk. As root, and as an ordinary user.
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type BuildFixture, buildFixture, firstBuildMs } from '../support/build-fixture.ts';
import { diskFiller, escapeKit, trials } from '../support/escape-kit.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { collect } from '../support/imago.ts';
import { type LentCache, lendCache } from '../support/lent-cache.ts';
import { canBeOrdinary, type OrdinaryUser, ordinaryUser } from '../support/ordinary-user.ts';
import {
  type ArchiveKey,
  archiveKey,
  lockedPackages,
  makePackage,
  serveArchive,
} from '../support/signed-archive.ts';

vi.setConfig({ testTimeout: firstBuildMs, hookTimeout: firstBuildMs });

const mebibyte = 1024 ** 2;
const limits = { processes: 200, memoryBytes: 512 * mebibyte, diskBytes: 128 * mebibyte };
let fixture: BuildFixture;
let key: ArchiveKey;
let server: FileServer;
let place: string;
let canary: string;
let connections = 0;
const sockets: Server[] = [];

async function listen(path: string): Promise<void> {
  const socket = createServer((connection) => {
    connections += 1;
    connection.destroy();
  });
  await new Promise<void>((resolve) => socket.listen(path, resolve));
  sockets.push(socket);
}

beforeAll(async () => {
  fixture = await buildFixture();
  place = await mkdtemp(join(tmpdir(), 'imago-kit-'));
  await chmod(place, 0o777);
  canary = join(place, 'canary');
  await writeFile(canary, 'alive');
  await chmod(canary, 0o666);
  const socket = join(place, 'api.sock');
  const abstract = `imago-kit-${process.pid}`;
  await listen(socket);
  await chmod(socket, 0o777);
  await listen(`\0${abstract}`);
  server = await startFileServer();
  key = await archiveKey();
  const port = Number(new URL(server.address).port);
  const kit = escapeKit({ canary, socket, abstract, port, processes: 400, memoryBytes: 1024 * mebibyte });
  const made = [
    await makePackage(place, { name: 'escape-kit', postinst: kit }),
    await makePackage(place, { name: 'disk-filler', postinst: diskFiller(256 * mebibyte) }),
  ];
  const main = [...(await lockedPackages(fixture.lock, join(fixture.cache, 'content'))), ...made];
  await serveArchive(server, key, { trixie: { main }, 'trixie-updates': { main: [] } });
});

afterAll(async () => {
  for (const socket of sockets) socket.close();
  await server?.close();
  await key?.end();
  await fixture?.end();
  await rm(place, { recursive: true, force: true });
});

interface Caller {
  readonly cache: string;
  readonly folder: string;
  words(script: string, job: string): readonly [string, ...string[]];
}

interface Ended {
  readonly lines: readonly string[];
  readonly outcome: {
    readonly digest?: string;
    readonly error?: { readonly code: string; readonly message: string };
  };
}

async function build(caller: Caller, name: string): Promise<Ended> {
  const folder = await mkdtemp(join(caller.folder, 'recipe-'));
  await chmod(folder, 0o777);
  const recipe = join(folder, 'imago.yaml');
  await writeFile(recipe, `name: hostile\nnumbering: semver\npackages:\n  - ${name}\n`);
  const options = { mirror: server.address, keyring: key.keyring };
  const job = { recipe, cache: caller.cache, store: join(folder, 'store'), options, limits };
  const [program, ...args] = caller.words('test/support/build-child.ts', JSON.stringify(job));
  // The host is safe even if the sandbox is not. An open folder of the host that was left to Imago must not get in.
  const guard = 'exec 200</; exec prlimit --nproc=4000 --fsize=4294967296 "$@"';
  const words = ['-c', guard, 'bash', program, ...args];
  const { out, err } = await collect(spawn('bash', words, { stdio: ['ignore', 'pipe', 'pipe'] }));
  return { lines: err.split('\n'), outcome: JSON.parse(out) as Ended['outcome'] };
}

function suite(name: string, caller: () => Caller): void {
  test(`${name}: every way out of the sandbox is closed, and nothing outside changed`, async () => {
    const { lines, outcome } = await build(caller(), 'escape-kit');
    const told = lines.flatMap((line) => /KIT (.*)$/.exec(line)?.[1] ?? []);
    expect(told, JSON.stringify(outcome)).toEqual([...trials.map((trial) => `${trial} held`), 'END']);
    expect(outcome).toMatchObject({ digest: expect.stringMatching(/^sha256:/) });
    expect(await readFile(canary, 'utf8')).toBe('alive');
    expect(connections).toBe(0);
  });

  test(`${name}: a package that fills the disk is stopped, and what it wrote is removed`, async () => {
    const { lines, outcome } = await build(caller(), 'disk-filler');
    expect(outcome.error).toMatchObject({
      code: 'build-failed',
      message: 'Installing packages disk-filler wrote more than 128 MiB and was stopped.',
    });
    expect(lines.join('\n')).not.toContain('FILLED');
    expect(await readdir(join(caller().cache, 'work'))).toEqual([]);
  });
}

describe.runIf(process.getuid?.() === 0)('root', () => {
  suite('root', () => ({
    cache: fixture.cache,
    folder: place,
    words: (script, job) => [process.execPath, script, job],
  }));
});

describe.runIf(canBeOrdinary)('an ordinary user', () => {
  let user: OrdinaryUser;
  let lent: LentCache;
  beforeAll(async () => {
    const folder = join(place, 'user');
    await mkdir(folder, { mode: 0o755 });
    user = ordinaryUser(folder);
    lent = await lendCache(user.uid);
  });
  afterAll(async () => {
    await lent?.end();
  });
  suite('an ordinary user', () => ({
    cache: join(lent.folder, 'test', 'build'),
    folder: user.home,
    words: (script, job) => user.node(script, job),
  }));
});
