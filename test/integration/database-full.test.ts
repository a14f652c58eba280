// The disk of the database fills up. The tables lie on a small file system of their own, in a mount namespace that
// ends with the server; the server's log of writes stays outside, so that the server itself lives on.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore, type Store } from '../../src/database/open-database.ts';
import type { Owner } from '../support/postgres.ts';
import { administer, digestOf, type StoreBench, startStoreBench } from '../support/store.ts';

const mountsWork = (() => {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
})();

function onSmallDisk(owner: Owner | undefined, folder: string): readonly string[] {
  const { uid, gid } = owner ?? { uid: 0, gid: 0 };
  const script = `
    mkdir "${folder}/small" && mount -t tmpfs -o size=40m,uid=${uid},gid=${gid},mode=0700 tmpfs "${folder}/small" &&
    mkdir "${folder}/small/tables" && chown ${uid}:${gid} "${folder}/small/tables" &&
    exec setpriv --reuid ${uid} --regid ${gid} --clear-groups "$@"`;
  return ['unshare', '-m', 'sh', '-c', script, 'sh'];
}

let bench: StoreBench;
let store: Store;

beforeAll(async () => {
  if (!mountsWork) return;
  bench = await startStoreBench({ wrapper: onSmallDisk });
  const { postgres } = bench;
  const template = new URL(await bench.freshDatabase()).pathname.slice(1);
  await administer(
    postgres.url('postgres'),
    `create tablespace small location '${postgres.folder}/small/tables'`,
  );
  await administer(postgres.url('postgres'), `create database small template "${template}" tablespace small`);
  store = openStore({ url: postgres.url('small'), epoch: 0 });
});

afterAll(async () => {
  await store?.close();
  await bench?.stop();
});

/** Takes all that is left on the small disk, seen through the server's own eyes. */
function fillDisk(): () => void {
  const ballast = join(`/proc/${bench.postgres.pid()}/root`, bench.postgres.folder, 'small/ballast');
  const file = openSync(ballast, 'w');
  for (const size of [1_000_000, 4_096]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 1));
    } catch {
      // Full, to this size.
    }
  }
  closeSync(file);
  return () => rmSync(ballast);
}

test.skipIf(!mountsWork)(
  'a write that finds no room is refused whole, reads go on, and with room it is made',
  async () => {
    const { journal, catalogue, events } = store;
    await catalogue.ensureImage({ name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' });
    await journal.create({ id: 'op', kind: 'k', subject: 's', by: 'ann', input: null, steps: ['one'] }, 0);
    const freeDisk = fillDisk();
    const before = await events.last();
    const big = {
      digest: digestOf(1),
      kind: 'scan',
      passed: false,
      summary: 'much',
      details: Array.from({ length: 400_000 }, (_, index) => index * 7_919),
      by: 'ann',
      operation: 'op',
    } as const;
    await expect(catalogue.addEvidence(big)).rejects.toMatchObject({
      code: 'database-full',
      kind: 'quota',
      httpStatus: 507,
      exitCode: 5,
      retryable: false,
      hint: expect.stringContaining('space'),
    });
    expect(await catalogue.listEvidence(digestOf(1))).toEqual([]);
    expect(await events.last()).toBe(before);
    expect(await journal.get('op')).toMatchObject({ state: 'queued' });

    freeDisk();
    expect(await catalogue.addEvidence(big)).toMatchObject({ details: big.details });
    await journal.update('op', { state: 'running' });
    expect(await journal.get('op')).toMatchObject({ state: 'running' });
  },
);
