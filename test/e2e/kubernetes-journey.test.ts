// A Kubernetes control plane on this host, as a user starts, uses, loses, and deletes it. kubectl judges.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identifyProcess } from '../../src/host/process/identity.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { kubernetesMs, kubernetesProgram, kubernetesVersions } from '../support/kubernetes.ts';
import { patience } from '../support/speed.ts';

interface Status {
  readonly state: string;
  readonly server?: string;
  readonly kubeconfig?: string;
  readonly processes?: readonly { readonly name: string; readonly pid: number }[];
  readonly nodes: readonly { readonly name: string; readonly ready: boolean; readonly version: string }[];
}

let imago: Imago;
let program: string;

beforeAll(async () => {
  program = await kubernetesProgram('kubectl');
  imago = await createImago();
}, kubernetesMs);
afterAll(async () => {
  await imago?.run(['cluster', 'down', '--erase', '--yes']);
  await imago?.end();
}, patience(120_000));

const status = () => imago.json<Status>(['cluster', 'status']);

async function kubectl(kubeconfig: string | undefined, ...args: readonly string[]): Promise<string> {
  const { stdout } = await runTool(program, ['--kubeconfig', kubeconfig ?? '', ...args]);
  return stdout.toString('utf8');
}

test(
  'a cluster on this host survives the daemon, is started again with it, and is deleted',
  async () => {
    await imago.run(['up']);
    expect(await status()).toEqual({ state: 'absent', nodes: [] });
    const version = kubernetesVersions[1];
    const up = await imago.json<object>(['cluster', 'up', '--version', version]);
    expect(up).toMatchObject({ name: 'local', version });
    const first = await status();
    expect(first).toMatchObject({ state: 'running', version, nodes: [] });
    expect(await kubectl(first.kubeconfig, 'get', '--raw', '/readyz')).toBe('ok');

    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'by-hand' } };
    const file = await imago.writeFile('node.json', JSON.stringify(node));
    await kubectl(first.kubeconfig, 'create', '-f', file);
    expect((await status()).nodes).toMatchObject([{ name: 'by-hand', ready: false }]);

    const { daemon } = await imago.json<{ daemon: { pid: number } }>(['status']);
    process.kill(daemon.pid, 'SIGKILL');
    await imago.run(['up']);

    expect((await status()).processes).toEqual(first.processes);
    expect(await imago.json<object>(['cluster', 'up'])).toMatchObject({ server: first.server });
    expect((await status()).processes).toEqual(first.processes);

    await imago.run(['down']);
    for (const { pid } of first.processes ?? []) expect(identifyProcess(pid)).toBeUndefined();
    await imago.run(['up']);
    await expect
      .poll(async () => (await status()).state, { timeout: patience(180_000), interval: 500 })
      .toBe('running');
    expect(await status()).toMatchObject({ server: first.server, nodes: [{ name: 'by-hand' }] });

    const refused = await imago.run(['cluster', 'down', '--erase']);
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining('delete its data')]);
    await imago.json(['cluster', 'down']);
    expect(await status()).toMatchObject({ state: 'stopped' });
    await imago.json(['cluster', 'down', '--erase', '--yes']);
    expect(await status()).toEqual({ state: 'absent', nodes: [] });
    expect((await imago.run(['cluster', 'list', '-o', 'name'])).out.trim()).toBe('sim');
  },
  patience(480_000),
);
