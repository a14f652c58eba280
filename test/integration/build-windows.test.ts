// A Windows recipe from lock to version, on a scripted Windows whose disk is a fixture made from what it did: our reader
// judges it, so that a machine that says otherwise is caught. It shows order and recovery, and nothing about Windows.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { installerCodes, judgeInstaller } from '../../src/domain/build/windows-installer.ts';
import type { Json } from '../../src/domain/value/json.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { judgeWindows } from '../../src/image-store/seal-captured.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { makeGuestDisk } from '../support/windows-guest-disk.ts';

let bench: StoreBench;
let product: Product;
let folder: string;
/** Whether disks are written and read; it takes a second each. */
let isWritten: boolean;

beforeAll(async () => {
  bench = await startStoreBench();
  folder = await mkdtemp(join(tmpdir(), 'imago-windows-build-'));
  await fetchTools({ group: 'windows' });
});
afterAll(async () => {
  await bench.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  isWritten = false;
  const store = await bench.freshStore();
  product = await createProduct(store, {
    async writeWindows(guest, seal) {
      const made = { digest: '', diskDigest: '', sizeBytes: 0, cleaned: 0, files: 0 };
      return isWritten ? seal(await makeGuestDisk(folder, 'guest', guest)) : made;
    },
  });
  const files = {
    async sealCaptured({ path, lock }: { path: string; lock?: never }, watch: never) {
      const count = await judgeWindows(path, lock ?? ({} as never), watch);
      return { digest: '', diskDigest: '', sizeBytes: 0, cleaned: 0, files: count };
    },
  };
  Object.assign(product.deps, { images: { files } });
});
afterEach(() => product.close());

const lcu = { kb: 'KB5018485', class: 'preview', build: '20348.1194', prerequisites: ['KB5018421'] };
const stack = { kb: 'KB5018000', class: 'B', kind: 'servicing-stack', build: '20348.1190' };
const old = { kb: 'KB5017316', class: 'B', build: '20348.1006' };
const base = { build: '20348.1129', updates: ['KB5018421'] };
const state = {
  path: 'HKLM\\SYSTEM\\CurrentControlSet\\Services\\hns\\State',
  name: 'X',
  type: 'dword',
  value: 1,
};
const windows = {
  base,
  patches: [lcu, stack, old],
  features: ['Containers'],
  registry: [state],
  services: [{ name: 'wuauserv', start: 'disabled' }],
};
const steps = [{ name: 'tools', run: 'sleep 30' }];

function recipe(more: object = {}) {
  return {
    ...{ name: 'win', numbering: 'semver', os: 'windows', architecture: 'x64', method: 'machine' },
    ...{ base: { image: 'server' }, components: [], settings: {}, windows, steps, ...more },
  };
}

async function build(asked: object): Promise<OperationRecord> {
  const { name } = asked as { name: string };
  return product.run({ kind: 'build', subject: `image/${name}`, input: { recipe: asked } as Json });
}

/** Builds on a Windows with these habits. */
async function buildOn(habits: readonly string[], asked = recipe()): Promise<OperationRecord> {
  const server = { name: 'server', numbering: 'semver', os: 'windows', components: [], windows: { base } };
  await build({ ...server, settings: { sim: { guest: habits } } });
  return build(asked);
}

function leftovers() {
  const { machines, snapshots } = product.sim.world.view();
  return { machines: machines.length, captures: snapshots.filter(({ name }) => name.endsWith('-capture')) };
}

async function expectFailure(operation: OperationRecord, code: string, message: RegExp, hint: RegExp) {
  expect(operation).toMatchObject({ state: 'failed', exceptions: [], error: { code } });
  expect(operation.error?.message).toMatch(message);
  expect(operation.error?.hint).toMatch(hint);
  expect(leftovers()).toEqual({ machines: 0, captures: [] });
  expect(await product.store.catalogue.getVersion('win', '1.0.0')).toBeUndefined();
}

const call = { signal: new AbortController().signal, epoch: 0 };

async function guestOf(operation: OperationRecord) {
  const { digest, image, version } = operation.result as { digest: string; image: string; version: string };
  const spec = { name: 'judge', image, version, digest, size: 'small', firmware: 'direct' } as const;
  await product.sim.machines.createMachine({ ...spec, userData: '', tags: {} }, call);
  const { guest, ran = [] } = product.sim.world.traits('judge');
  await product.sim.machines.deleteMachine('judge', call);
  return { guest, ran: ran.map((job) => job.replace(/-.*/, '')) };
}

describe('a Windows recipe', () => {
  test('is patched, set up, and generalized, and the disk has it all', async () => {
    isWritten = true;
    const operation = await buildOn([]);
    expect(operation.error).toBeUndefined();
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    const { guest, ran } = await guestOf(operation);
    expect(ran).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect(guest).toMatchObject({ ubr: 1194, features: ['Containers'], services: { wuauserv: 'disabled' } });
    expect(Object.keys(guest?.files ?? {}).sort()).toEqual(['imago/first-boot.ps1', 'imago/manifest.json']);
    expect(guest?.updates.KB5017316).toBeUndefined();
    expect(leftovers()).toEqual({ machines: 0, captures: [] });
  });

  test('whose machine lies is caught by its disk', async () => {
    isWritten = true;
    const operation = await buildOn(['sysprep:lies']);
    await expectFailure(
      operation,
      'build-failed',
      /It is in state IMAGE_STATE_COMPLETE/,
      /Nothing was sealed/,
    );
  });

  test('whose seal leaves what the agent of a cloud wrote is not sealed', async () => {
    isWritten = true;
    const operation = await buildOn(['keeps:WindowsAzure/Logs/agent.log']);
    await expectFailure(
      operation,
      'capture-unsafe',
      /\/WindowsAzure\/Logs\/agent\.log/,
      /step of the recipe/,
    );
  });

  test('has a setting again that one of its own steps took away', async () => {
    isWritten = true;
    const operation = await buildOn([`resets:${state.path}\\${state.name}`]);
    expect(operation).toMatchObject({ state: 'succeeded' });
  });
});

describe('an installer', () => {
  const on = (habit: string) => buildOn([habit], recipe({ steps: [] }));
  const failing = installerCodes.filter((code) => /failed|spoilt/.test(judgeInstaller(code).outcome));

  test.each(failing.flatMap((code) => [code, code | 0]))(
    'that ends with %i fails the build, which names the update, the code, and the next action',
    async (code) => {
      const { code: hex, action } = judgeInstaller(code);
      const operation = await on(`code:KB5018485:${code}`);
      const hint = new RegExp(action.slice(0, 30).replaceAll(/[.()]/g, '.'));
      await expectFailure(
        operation,
        'patch-failed',
        new RegExp(`^KB5018485 was not installed: ${hex}`),
        hint,
      );
    },
  );

  test.each(['code:KB5018485:0x00240005', 'late:KB5018485', 'restarts:KB5018485'])(
    'that works in its own way (%s) is followed by a restart, and runs once',
    async (habit) => {
      const operation = await on(habit);
      expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
      const { guest, ran } = await guestOf(operation);
      expect(guest?.ubr).toBe(1194);
      expect(ran).toEqual([...new Set(ran)]);
    },
  );

  test.each([
    ['rollback:KB5018485', /KB5018485 reported 0x00000BC2, but is not installed.*state 0x40.*20348\.1129/],
    ['code:KB5018485:0x00240006', /KB5018485 reported 0x00240006, but is not installed.*missing/],
  ])('that is not to be believed (%s) is found by the state of its package', async (habit, message) => {
    await expectFailure(await on(habit), 'patch-failed', message, /CBS\.log/);
  });

  test('that needs a servicing stack has it, because stacks are installed first', async () => {
    expect(await on('needs:KB5018485:KB5018000')).toMatchObject({ state: 'succeeded' });
  });
});

describe('a private patch', () => {
  const secret = { kb: 'KB5077777', class: 'out-of-band', build: '20348.9999', private: true };
  const asked = recipe({ windows: { ...windows, patches: [secret] } });

  test.each(['code:KB5077777:0x800F0922', 'rollback:KB5077777', ''])(
    'is named by no step, error, or version (%s)',
    async (habit) => {
      const operation = await buildOn([habit], asked);
      expect(operation.state).toBe(habit === '' ? 'succeeded' : 'failed');
      const { steps: done, error, result } = operation;
      const said = JSON.stringify([done.filter(({ name }) => name !== 'lock'), error, result]);
      expect(said).toContain(habit === '' ? 'install a private patch' : 'private patch');
      expect(said).not.toMatch(/KB5077777|9999/);
      if (habit === '') {
        const found = await product.store.catalogue.getVersion('win', '1.0.0');
        expect(found).toMatchObject({ restricted: true });
      }
    },
  );
});

describe('Sysprep', () => {
  test.each([
    ['hangs', /^Sysprep did not end: .* within 15 min/],
    ['fails', /^Sysprep ended with 1\. Its log says: SYSPRP Package Example\.App_1\.0\.0\.0/],
    ['untagged', /ended with 0, but the system is in state IMAGE_STATE_COMPLETE, and it left no mark/],
    ['undeployable', /in state IMAGE_STATE_UNDEPLOYABLE/],
  ])('that %s seals nothing', async (how, message) => {
    await expectFailure(await buildOn([`sysprep:${how}`]), 'build-failed', message, /--keep-failed/);
  });
});

describe('what cannot be built', () => {
  const patched = (patch: object) => recipe({ windows: { patches: [patch] } });
  test.each([
    [
      'another base than the recipe says',
      recipe({ windows: { ...windows, base: { build: '20348.1006', updates: ['KB5018421'] } } }),
      /^The base is Windows 20348\.1129, and the recipe says 20348\.1006\.$/,
      /windows\.base\.build/,
    ],
    [
      'a patch for another build',
      patched({ kb: 'KB5040000', class: 'B', kind: 'update', build: '26100.1742' }),
      /KB5040000 is for build 26100, and the base is 20348/,
      /./,
    ],
    [
      'a step that never ends',
      recipe({ steps: [{ name: 'wait', run: 'sleep infinity', timeoutMs: 60_000 }] }),
      /^Step wait did not end within 1 min/,
      /`timeout`/,
    ],
    [
      'a step that fails',
      recipe({ steps: [{ name: 'bad', run: 'exit 3' }] }),
      /^Step bad ended with 3/,
      /--logs/,
    ],
  ])('%s', async (_, asked, message, hint) => {
    const operation = await buildOn([], asked);
    await expectFailure(operation, operation.error?.code ?? '', message, hint);
  });

  test('a disk with too little room for a patch', async () => {
    await expectFailure(
      await buildOn(['full']),
      'disk-too-small',
      /free, and its updates need/,
      /disk size/i,
    );
  });
});

describe('a process that dies', () => {
  const boundaries = [
    ...['machine', 'inputs', ...[1, 2, 3, 4, 5, 6, 7].map((number) => `step-${number}`)],
    ...['generalize', 'stop', 'build', 'discard'],
  ];
  test.each(boundaries)('around step %s loses no step and repeats none', async (step) => {
    const moments = new Set(['before-body', 'after-body', 'after-record']);
    await buildOn([], recipe({ name: 'first', steps: [] }));
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moments.delete(moment) ? 'die' : undefined;
    const operation = await build(recipe());
    expect(moments.size).toBe(0);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(leftovers()).toEqual({ machines: 0, captures: [] });
    const { ran } = await guestOf(operation);
    expect(ran).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
  });
});
