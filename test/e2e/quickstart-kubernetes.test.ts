// The quickstart with Kubernetes, as a user runs it: nodes join, one is captured and cloned, and a bad version is rolled out
// and rolled back. All assertions share this one journey; kubectl judges.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { kubernetesMs, kubernetesProgram, testedKubernetes } from '../support/kubernetes.ts';
import { patience } from '../support/speed.ts';

const root = resolve(import.meta.dirname, '../..');
/** Emulated machines boot about twenty times. */
const soak = process.env.IMAGO_SOAK === '1';
const journeyMs = patience(25 * 60_000);

let folder: string;
let program: string;
let env: NodeJS.ProcessEnv;
let running: ChildProcess | undefined;
let said = '';
let code: number | null;

beforeAll(async () => {
  if (!soak) return;
  await testedKubernetes();
  program = await kubernetesProgram('kubectl');
}, kubernetesMs);

beforeAll(async () => {
  if (!soak) return;
  folder = await mkdtemp(join(tmpdir(), 'imago-journey-'));
  env = { ...process.env, IMAGO_HOME: join(folder, 'home') };
  const child = spawn(join(root, 'quickstart'), ['--kubernetes', '--keep'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
  code = await new Promise((done, reject) => child.once('error', reject).once('close', done));
}, journeyMs);

afterAll(async () => {
  if (!soak) return;
  running?.kill('SIGINT');
  await imago('down');
  await rm(folder, { recursive: true, force: true });
}, patience(300_000));

async function imago(...words: readonly string[]): Promise<string> {
  const { stdout } = await runTool(join(root, 'bin/imago'), words, {
    env: { ...env } as Record<string, string>,
  });
  return stdout.toString('utf8');
}

async function kubectl<T>(...args: readonly string[]): Promise<T> {
  const kubeconfig = join(folder, 'home', 'control-plane', 'pki', 'admin.kubeconfig');
  const { stdout } = await runTool(program, ['--kubeconfig', kubeconfig, ...args, '-o', 'json']);
  return JSON.parse(stdout.toString('utf8')) as T;
}

interface List<T> {
  readonly items: readonly T[];
}

interface Node {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly unschedulable?: boolean; readonly podCIDR?: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
  };
}

const readNodes = async () => (await kubectl<List<Node>>('get', 'nodes')).items;

describe.runIf(soak)('(soak) the quickstart with Kubernetes', () => {
  test('runs to its end', () => {
    expect(said).toContain('Done. The nodes and the cluster run');
    expect(code).toBe(0);
  });

  test('has four nodes that are ready and schedulable, each with an address and a pod range of its own', async () => {
    const nodes = await readNodes();
    expect(nodes).toHaveLength(4);
    for (const { status, spec } of nodes) {
      expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
      expect(spec.unschedulable).toBeUndefined();
    }
    const own = nodes.map(
      ({ status }) => status.addresses.find(({ type }) => type === 'InternalIP')?.address,
    );
    expect(new Set(own).size).toBe(4);
    expect(new Set(nodes.map(({ spec }) => spec.podCIDR)).size).toBe(4);
  });

  test('leaves no bootstrap token, and no secret in what it said', async () => {
    const secrets = await kubectl<List<{ type: string }>>('get', 'secrets', '--all-namespaces');
    expect(secrets.items.filter(({ type }) => type === 'bootstrap.kubernetes.io/token')).toEqual([]);
    expect(said).not.toMatch(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/);
  });

  test('shows in the cluster what each node was created from, as Imago records it', async () => {
    for (const { metadata } of await readNodes()) {
      const which = JSON.parse(await imago('node', 'which', metadata.name, '--json')) as Record<
        string,
        unknown
      >;
      expect(metadata.labels).toMatchObject({ 'imago.dev/pool': 'web', 'imago.dev/version': which.version });
      expect(metadata.annotations['imago.dev/digest']).toBe(which.digest);
      expect(metadata.annotations['imago.dev/reference']).toBe(which.reference);
    }
  });

  test('created the fourth node from the prototype, with its patch and an identity of its own', async () => {
    const fourth = (await readNodes()).find(({ metadata }) => metadata.name.endsWith('3'));
    expect(fourth?.metadata.labels['imago.dev/image']).toBe('web-prototype');
    expect(said).toContain('/etc/quickstart-patch');
    const ids = await kubectl<List<{ status: { nodeInfo: { machineID: string; systemUUID: string } } }>>(
      ...['get', 'nodes'],
    );
    for (const key of ['machineID', 'systemUUID'] as const)
      expect(new Set(ids.items.map(({ status }) => status.nodeInfo[key])).size).toBe(4);
  });

  test('returned every node of the bad prototype to a good version, and uses it no longer', async () => {
    const { items } = JSON.parse(await imago('image', 'list', 'web-prototype', '--json')) as List<{
      version: string;
    }>;
    const versions = items
      .map(({ version }) => version)
      .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    const bad = versions.at(-1);
    expect(versions).toHaveLength(2);
    const used = (await readNodes()).map(({ metadata }) => metadata.labels['imago.dev/version']);
    expect(used).not.toContain(bad);
    const pool = JSON.parse(await imago('pool', 'show', 'web', '--json')) as { version: string };
    expect(pool.version).not.toBe(bad);
    expect(said).not.toContain('the bad prototype was not noticed');
  });

  test('pulled nothing: every container runs from the disk', async () => {
    const events = await kubectl<List<{ reason: string; message: string }>>('get', 'events');
    const pulls = events.items.filter(({ reason }) => reason === 'Pulling' || reason === 'Failed');
    expect(pulls.map(({ message }) => message)).toEqual([]);
  });
});
