import { afterEach, beforeEach, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { until } from '../support/until.ts';

interface Status {
  readonly daemon: { readonly pid: number };
  readonly database: { readonly pid: number };
}

let imago: Imago;

beforeEach(async () => {
  imago = await createImago();
  await imago.writeFile('imago.yaml', recipe);
  await imago.json(['build']);
  // Machines now take minutes to start, so that the test is still in progress when it is killed or cancelled.
  await imago.json(['down']);
  await imago.json(['up', '--time-scale', '0.2']);
});

afterEach(() => imago.end());

async function startTest(): Promise<string> {
  const { items } = await imago.json<{ items: { version: string }[] }>(['image', 'list', 'node']);
  const started = await imago.json<{ id: string }>(['test', `node:${items[0]?.version}`, '--no-wait']);
  return started.id;
}

async function stepUnderWay(id: string): Promise<void> {
  await until('the check step runs', async () => {
    const { steps } = await imago.json<{ steps: { name: string; state: string }[] }>(['op', 'show', id]);
    return steps.some(({ name, state }) => name === 'check' && state === 'running');
  });
}

/** Takes effect at the next start of the daemon. */
async function hurry(): Promise<void> {
  await imago.json(['config', 'set', 'time-scale', '1000']);
}

test('a watcher sees the end of an operation whose daemon and database were killed on the way', async () => {
  const id = await startTest();
  await stepUnderWay(id);
  const watching = imago.start(['op', 'watch', id]);
  await new Promise((resolve) => watching.child.stderr?.once('data', resolve));
  const { daemon, database } = await imago.json<Status>(['status']);
  await hurry();
  process.kill(daemon.pid, 'SIGKILL');
  process.kill(database.pid, 'SIGKILL');
  const { code, out, err } = await watching.finished;
  expect(err).toMatch(/daemon disconnected/);
  expect(code).toBe(0);
  expect(out).toMatch(/succeeded/);
  const operation = await imago.json<{ state: string; steps: { name: string; attempts: number }[] }>([
    'op',
    'show',
    id,
  ]);
  expect(operation.state).toBe('succeeded');
  const again = operation.steps.filter(({ attempts }) => attempts > 1).map(({ name }) => name);
  expect(again).toEqual(['check']);
});

test('Ctrl-C stops watching and says how to go on; the operation is not touched', async () => {
  const id = await startTest();
  await stepUnderWay(id);
  const watching = imago.start(['op', 'watch', id]);
  await new Promise((resolve) => watching.child.stderr?.once('data', resolve));
  watching.child.kill('SIGINT');
  const { code, err } = await watching.finished;
  expect(code).toBe(130);
  expect(err).toContain(`imago op watch ${id}`);
  expect(err).toContain(`imago op cancel ${id}`);
  await hurry();
  await imago.json(['down']);
  const { code: end } = await imago.run(['op', 'watch', id]);
  expect(end).toBe(0);
});

test('cancel undoes: no machine of the test is left, and the version stays a candidate', async () => {
  const id = await startTest();
  await stepUnderWay(id);
  await imago.json(['op', 'cancel', id]);
  await hurry();
  await imago.json(['down']);
  const { code } = await imago.run(['op', 'watch', id]);
  expect(code).toBe(130);
  const operation = await imago.json<{
    state: string;
    exceptions: unknown[];
    steps: { name: string; state: string }[];
  }>(['op', 'show', id]);
  expect(operation).toMatchObject({ state: 'cancelled', exceptions: [] });
  const { items } = await imago.json<{ items: { state: string }[] }>(['image', 'list', 'node']);
  expect(items.map(({ state }) => state)).toEqual(['candidate']);
});
