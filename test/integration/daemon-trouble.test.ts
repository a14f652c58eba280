// What stands in the daemon's way at the start, or comes to stand there: each gets one clear sentence, and
// leaves nothing running.
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RuntimePaths, runtimePaths } from '../../src/daemon/process/paths.ts';
import { currentProcessEnvironment } from '../../src/launcher/paths.ts';
import { daemonFile, type Status, statusOf } from '../support/daemon.ts';
import { createImago, type Finished, type Imago, recipe } from '../support/imago.ts';
import { canMount, createSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

function expectRefusal({ code, out, err }: Finished, exitCode: number, sentence: RegExp): void {
  expect(err).toMatch(sentence);
  expect(err).toMatch(/^hint: ./m);
  expect(out).toBe('');
  expect(code).toBe(exitCode);
}

describe('the state folder', () => {
  let imago: Imago;
  beforeEach(async () => {
    imago = await createImago();
  });
  afterEach(() => imago.end());

  function runtimeOf(home: string): RuntimePaths {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return runtimePaths(realpathSync(home), currentProcessEnvironment());
  }

  test('holds a database of another major version: the way over is named, and nothing was touched', async () => {
    await imago.json(['up']);
    await imago.json(['down']);
    const versionFile = join(imago.home, 'postgres', 'data', 'PG_VERSION');
    const version = readFileSync(versionFile, 'utf8');
    writeFileSync(versionFile, '17\n');
    const refused = await imago.run(['up']);
    expectRefusal(refused, 4, /^error: .*PostgreSQL 17/m);
    expect(refused.err).toMatch(/hint: .*imago backup.*imago restore/);
    expect(daemonFile(imago.home)).toBeUndefined();
    writeFileSync(versionFile, version);
    expect(await imago.json(['up'])).toMatchObject({ started: true });
  });

  test('has its socket held by another PostgreSQL', async () => {
    const other = await createImago();
    try {
      await other.json(['up']);
      const { database } = await statusOf(other);
      const { postgresFolder } = runtimeOf(imago.home);
      mkdirSync(postgresFolder, { mode: 0o700 });
      writeFileSync(join(postgresFolder, '.s.PGSQL.5432.lock'), `${database.pid}\n`);
      expectRefusal(
        await imago.run(['up']),
        4,
        new RegExp(`Another PostgreSQL \\(process ${database.pid}\\)`),
      );
      expect((await statusOf(other)).database.state).toBe('ready');
    } finally {
      await other.end();
    }
  });

  test('has somebody else’s link where its sockets should be', async () => {
    const { apiFolder } = runtimeOf(imago.home);
    symlinkSync(imago.folder, apiFolder);
    try {
      expectRefusal(await imago.run(['up']), 4, /is not a directory/);
    } finally {
      rmSync(apiFolder);
    }
  });
});

test('doctor looks at a machine on which no daemon can start', async () => {
  const imago = await createImago();
  try {
    const file = await imago.writeFile('not-a-folder', '');
    const { code, out } = await imago.run(['doctor', '--json'], { env: { IMAGO_HOME: file } });
    const { findings } = JSON.parse(out) as { findings: { id: string; state: string }[] };
    expect(findings.find(({ id }) => id === 'host.node')?.state).toBe('ok');
    // Only what is missing fails it; which programs this host has does not matter here.
    expect(code).toBe(findings.some(({ state }) => state === 'missing') ? 1 : 0);
  } finally {
    await imago.end();
  }
});

test('another PostgreSQL that does not answer: the daemon does not start, and says which', async () => {
  const imago = await createImago();
  try {
    const env = { IMAGO_DATABASE_URL: 'postgresql://imago:secret-word@127.0.0.1:1/imago' };
    const refused = await imago.run(['up'], { env });
    expectRefusal(refused, 5, /^error: .*database/m);
    expect(refused.err).not.toContain('secret-word');
    expect(daemonFile(imago.home)).toBeUndefined();
  } finally {
    await imago.end();
  }
});

describe.skipIf(!canMount)('the disk', () => {
  let disk: SmallDisk;
  afterEach(() => disk.end());

  async function status(): Promise<Status> {
    const { code, out, err } = await disk.imago('status', '--json');
    if (code !== 0) throw new Error(err);
    return JSON.parse(out) as Status;
  }

  test('is read-only', async () => {
    disk = await createSmallDisk(1);
    disk.shell('mount -o remount,ro "$(dirname "$IMAGO_HOME")"');
    expectRefusal(await disk.imago('up'), 2, /read-only/);
  });

  test('has no byte left', async () => {
    disk = await createSmallDisk(1);
    disk.shell('dd if=/dev/zero of="$(dirname "$IMAGO_HOME")/filler" bs=4k status=none || true');
    expectRefusal(await disk.imago('up'), 1, /no space left/i);
  });

  test('is too small for a database', async () => {
    disk = await createSmallDisk(50);
    expectRefusal(await disk.imago('up'), 1, /needs 100 MB/);
  });

  test('fills up while the daemon runs: it says so, and goes on when there is room again', async () => {
    disk = await createSmallDisk(300);
    disk.shell(`mkdir "$IMAGO_HOME" && cat > "$IMAGO_HOME/imago.yaml" <<'END'\n${recipe}END`);
    expect((await disk.imago('build', join(disk.home, 'imago.yaml'))).code).toBe(0);
    const before = await status();

    disk.shell('dd if=/dev/zero of="$(dirname "$IMAGO_HOME")/filler" bs=64k status=none || true');
    await useUpLog(before);
    expectRefusal(await disk.imago('image', 'list'), 1, /full|no space/i);

    disk.shell('rm "$(dirname "$IMAGO_HOME")/filler"');
    await until(
      'it answers again',
      async () => (await disk.imago('image', 'list', '-o', 'name')).out === 'node\n',
    );
    expect((await status()).daemon.pid).toBe(before.daemon.pid);
  });

  /** Makes PostgreSQL need more room for its log than there is, which it does not survive. */
  async function useUpLog({ daemon, sockets }: Status): Promise<void> {
    const { Client } = (await import('pg')).default;
    const password = readFileSync(join(disk.seenBy(daemon.pid), 'postgres', 'password'), 'utf8').trim();
    const client = new Client({ host: sockets.database ?? '', user: 'imago', database: 'imago', password });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('create table filler (line text)');
      for (;;)
        await client.query("insert into filler select repeat('x', 1000) from generate_series(1, 1000)");
    } catch {
      // No table can grow any more.
    }
    try {
      for (;;) await client.query("select pg_logical_emit_message(false, 'x', 'y'), pg_switch_wal()");
    } catch {
      // Nor can the log.
    }
    await client.end().catch(() => undefined);
  }
});
