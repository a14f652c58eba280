// Product operations run while `kill -9` hits the daemon and PostgreSQL at random moments: every operation ends, none
// is lost or done twice, and what remains is what was requested, with nothing left behind.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/api/client/client.ts';
import type {
  InputOf,
  ItemOf,
  ListEndpoint,
  PlainEndpoint,
  ResponseOf,
} from '../../src/api/contract/types.ts';
import { ensureImagoError } from '../../src/domain/error/imago-error.ts';
import { identifyProcess, type ProcessIdentity } from '../../src/host/process/identity.ts';
import { statePaths } from '../../src/launcher/paths.ts';
import { ensureDaemon, isDaemonThere } from '../../src/launcher/process.ts';
import { storePaths } from '../../src/oci/layout/paths.ts';
import { createSimProvider } from '../../src/providers/sim/provider.ts';
import { daemonFile, untilGone } from '../support/daemon.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { patience } from '../support/speed.ts';
import { until } from '../support/until.ts';

const soak = process.env.IMAGO_SOAK === '1';
const rounds = soak ? 30 : 2;
const minute = 60_000;
/** The maximum time between the product working again and the next kill. */
const withinMs = 2500;
const capacity = 2;

type Operation = ResponseOf<'showOperation'>;
type Starter =
  | 'createBuild'
  | 'createTest'
  | 'promote'
  | 'createPool'
  | 'scalePool'
  | 'deletePool'
  | 'withdrawVersion';
interface Built {
  readonly version: string;
  readonly digest: string;
}

let imago: Imago;
let client: Client;
/** Ids of the operations that were requested. */
const requested = new Set<string>();
const killed: ProcessIdentity[] = [];
const built: Built[] = [];
const withdrawn = new Set<string>();
const pools = new Set<string>();

beforeAll(
  async () => {
    imago = await createImago();
    process.env.IMAGO_HOME = imago.home;
    await imago.json(['config', 'set', 'provider', 'sim']);
    await imago.json(['config', 'set', 'time-scale', '300']);
    client = createClient(async () => {
      const { socket } = await ensureDaemon();
      return { socketPath: socket, isRunning: isDaemonThere };
    });
    // On a busy host a start can take longer than a command waits for it: this repeats it.
    await ask('status', {});
  },
  patience(10 * minute),
);

afterAll(async () => {
  client?.close();
  await imago?.end();
});

/** Repeats a request until the daemon has responded. A write keeps its key, so that it is done once. */
async function ask<N extends PlainEndpoint>(endpoint: N, input: InputOf<N>): Promise<ResponseOf<N>> {
  const options = { idempotencyKey: randomUUID() };
  for (;;) {
    try {
      await ensureDaemon();
      return await client.call(
        ...([endpoint, input, options] as unknown as Parameters<typeof client.call<N>>),
      );
    } catch (thrown) {
      const error = ensureImagoError(thrown);
      if (!isOutage(error.code)) throw error;
    }
    await sleep(50);
  }
}

function isOutage(code: string): boolean {
  return /^(?:daemon|database|postgres|owner-stale|idempotency-running)/.test(code);
}

/**
 * Starts an operation and follows it to its end. One that a withdrawal overtakes is refused, with nothing changed: it is
 * requested again.
 */
async function perform<N extends Starter>(endpoint: N, input: InputOf<N>): Promise<Operation> {
  for (;;) {
    const { id } = (await ask(endpoint, input)) as Operation;
    requested.add(id);
    const operation = await end(id);
    const { state, error, exceptions } = operation;
    if (isOvertaken(operation)) continue;
    expect({ endpoint, state, error, exceptions }).toEqual({ endpoint, state: 'succeeded', exceptions: [] });
    return operation;
  }
}

function isOvertaken({ state, error, exceptions }: Operation): boolean {
  return state === 'failed' && error?.code === 'version-withdrawn' && exceptions.length === 0;
}

/** Imago started it to follow a channel, and the pool was deleted while it was queued. */
function isPointless({ by, subject, error }: Operation): boolean {
  const isDeleted = !pools.has(subject.replace('pool/', ''));
  return by === 'imago' && error?.code === 'pool-not-found' && isDeleted;
}

async function end(id: string): Promise<Operation> {
  for (;;) {
    const operation = await ask('waitOperation', { path: { operation: id }, query: { seconds: 5 } });
    if (operation.endedAt !== undefined) return operation;
  }
}

async function release(round: number): Promise<void> {
  const text = recipe.replace('calendar', 'semver').replace('1.7.24', `1.7.${round}`);
  const { result } = await perform('createBuild', { body: { recipe: text } });
  const { version, digest } = result as unknown as Built;
  const reference = `node:${version}`;
  built.push({ version, digest });
  await perform('createTest', { body: { reference } });
  for (const channel of ['staging', 'production']) {
    await perform('promote', { body: { reference, channel, why: `round ${round}` } });
  }
}

async function changePools(round: number): Promise<void> {
  const pool = `pool-${round}`;
  pools.add(pool);
  const body = { name: pool, reference: 'node:production', capacity: 3, pin: false };
  await perform('createPool', { body });
  await perform('scalePool', { path: { pool }, body: { capacity: 5 } });
  await perform('scalePool', { path: { pool }, body: { capacity } });
  const previous = `pool-${round - 1}`;
  if (round % 2 === 1 || !pools.delete(previous)) return;
  await perform('deletePool', { path: { pool: previous } });
}

/** Withdraws the version in production, but never the first one: production can always return to it. */
async function withdraw(round: number): Promise<void> {
  const version = built.at(-1)?.version;
  if (round === 1 || version === undefined) return;
  withdrawn.add(version);
  const body = { reason: 'kubelet crashes', descendants: false, replace: false };
  await perform('withdrawVersion', { path: { image: 'node', version }, body });
}

/** Kills the daemon, PostgreSQL, and both, in random order, each time as soon as the product works again. */
async function storm(): Promise<void> {
  for (const victims of [['daemon'], ['database'], ['daemon', 'database']].toSorted(
    () => Math.random() - 0.5,
  )) {
    await ask('status', {});
    await sleep(Math.random() * withinMs);
    for (const victim of victims)
      kill(victim === 'daemon' ? daemonFile(imago.home)?.process.pid : databasePid());
  }
}

function kill(pid: number | undefined): void {
  const found = pid === undefined ? undefined : identifyProcess(pid);
  if (found === undefined) return;
  killed.push(found);
  process.kill(found.pid, 'SIGKILL');
}

/** `undefined` while it starts. */
function databasePid(): number | undefined {
  const file = join(statePaths(imago.home).postgresData, 'postmaster.pid');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : undefined;
}

async function all<N extends ListEndpoint>(endpoint: N, input: InputOf<N>): Promise<ItemOf<N>[]> {
  const items: ItemOf<N>[] = [];
  const words = [endpoint, input] as unknown as Parameters<typeof client.items<N>>;
  for await (const item of client.items(...words)) items.push(item);
  return items;
}

function isWrong(operation: Operation): boolean {
  const { state, endedAt } = operation;
  return endedAt !== undefined && state !== 'succeeded' && !isOvertaken(operation) && !isPointless(operation);
}

/** Waits until nothing runs, including what Imago started on its own, or an operation has failed. */
async function settled(): Promise<readonly Operation[]> {
  const newest = built.at(-1)?.version;
  return until(
    'nothing runs',
    async () => {
      const operations = await all('listOperations', {});
      const behind = (await all('listPools', {})).filter(({ version }) => version !== newest);
      const isDone = behind.length === 0 && operations.every(({ endedAt }) => endedAt !== undefined);
      return (isDone || operations.some(isWrong)) && operations;
    },
    300,
  );
}

/** A kill can cost a minute: steps that failed in an outage pause that long before they are tried again. */
const roundMs = 5 * minute;

test(`${rounds} rounds of kills lose nothing`, { timeout: patience(rounds * roundMs) }, async () => {
  await release(0);
  for (let round = 1; round <= rounds; round += 1) {
    await Promise.all([release(round), changePools(round), withdraw(round), storm()]);
  }
  const newest = built.at(-1);

  // Every operation ended well, and each request started one operation.
  const operations = await settled();
  expect(operations.filter(isWrong)).toEqual([]);
  const own = operations.filter(({ by, parent }) => by === 'local' && parent === undefined);
  expect(own.map(({ id }) => id).toSorted()).toEqual([...requested].toSorted());
  const audited = new Set(
    (await all('listAudit', {})).map(({ after }) => (after as { operation?: string } | undefined)?.operation),
  );
  expect([...requested].filter((id) => !audited.has(id))).toEqual([]);

  // Versions: one number and one digest for each build, withdrawn if that was requested (rules 4 and 5).
  const versions = await all('listVersions', { path: { image: 'node' } });
  expect(versions.map(({ version, digest }) => ({ version, digest })).toReversed()).toEqual(built);
  for (const { version, state } of versions) {
    expect([version, state]).toEqual([version, withdrawn.has(version) ? 'withdrawn' : 'available']);
  }
  expect(await ask('resolve', { query: { reference: 'node:production' } })).toMatchObject(newest ?? {});

  // Pools: the requested number of nodes, each with a record of what it was made from (rules 1, 3 and 6).
  expect((await all('listPools', {})).map(({ name }) => name).toSorted()).toEqual([...pools].toSorted());
  const nodes = await all('listNodes', {});
  expect(nodes).toHaveLength(pools.size * capacity);
  for (const { name, power, state, schedulable } of nodes) {
    expect([name, power, state, schedulable]).toEqual([name, 'running', 'ready', true]);
    const { version, digest, reference, channel, move } = await ask('whichNode', { path: { node: name } });
    expect(built).toContainEqual({ version, digest });
    expect([reference, channel, move]).toEqual(['node:production', 'production', expect.any(Number)]);
  }
  expect(await all('listProblems', {})).toEqual([]);

  // Nothing is left behind: no machine, snapshot, partial version, process, or temporary file (rule 2).
  await imago.json(['down']);
  await untilGone(...killed);
  const sim = createSimProvider({ file: join(imago.home, 'sim', 'world.db') });
  const world = sim.world.view();
  await sim.close();
  expect([world.machines, world.snapshots]).toEqual([[], []]);
  expect(world.versions.filter(({ state }) => state !== 'ready')).toEqual([]);
  expect(world.pools.map(({ name, capacity: size }) => [name, size])).toEqual(
    [...pools].toSorted().map((name) => [name, capacity]),
  );
  const { temporary, partial } = storePaths(join(imago.home, 'store'));
  for (const folder of [temporary, partial, join(imago.home, 'local', 'host', 'machines')]) {
    expect([folder, readdirSync(folder)]).toEqual([folder, []]);
  }
});
