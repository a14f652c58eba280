// The drain suite over a real API server with its controllers, and kubectl as the judge of the result. Nodes and kubelets
// are simulated over the API.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import { openKubeClient } from '../../src/kube/cluster.ts';
import { localControlPlane } from '../../src/kube/control-plane/control-plane.ts';
import { startKubelet } from '../../src/kube/sim/kubelet.ts';
import { describeDrain } from '../conformance/kube/drain-suite.ts';
import { type KubeLab, makeScene, type Scene } from '../conformance/kube/lab.ts';
import { kubernetesMs, kubernetesProgram } from '../support/kubernetes.ts';

interface RealLab extends KubeLab {
  kubectl(...args: readonly string[]): Promise<string>;
}

let lab: RealLab;

beforeAll(async () => {
  const kubectl = await kubernetesProgram('kubectl');
  const folder = await mkdtemp(join(tmpdir(), 'imago-plane-'));
  const plane = localControlPlane(folder, process.env);
  const ends = [async () => rm(folder, { recursive: true, force: true }), () => plane.down({ erase: true })];
  end = async () => {
    for (const one of ends.toReversed()) await one();
  };
  const { kubeconfig } = await plane.up({ signal: AbortSignal.timeout(kubernetesMs) });
  const [api, kubelets] = [await openKubeClient({ kubeconfig }), await openKubeClient({ kubeconfig })];
  const kubelet = startKubelet(kubelets, systemClock);
  ends.push(async () => {
    await kubelet.stop();
    for (const client of [api, kubelets]) client.close();
  });
  const run = async (...args: readonly string[]) => {
    const { stdout } = await runTool(kubectl, ['--kubeconfig', kubeconfig, ...args]);
    return stdout.toString('utf8');
  };
  lab = {
    ...{ api, clock: systemClock, kubectl: run },
    cordonAsOperator: async (node, isCordoned) => void (await run(isCordoned ? 'cordon' : 'uncordon', node)),
    pass: () => sleep(100),
    settle: async (namespace) =>
      void (await run('-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=60s')),
    close: async () => undefined,
  };
}, kubernetesMs);
let end: () => Promise<void> = async () => undefined;
afterAll(() => end());

describeDrain('a real API server', async () => lab);

describe('a drain by Imago and one by kubectl', () => {
  /** A workload with a budget that allows one disruption at a time, a DaemonSet, and a finished pod. */
  async function build(): Promise<Scene> {
    const scene = await makeScene(lab);
    for (const name of ['a', 'b']) await scene.addNode(name);
    await scene.addReplicaSet('web', 4);
    await scene.addBudget('web', { minAvailable: 3 });
    await scene.addDaemonSet('agent');
    await scene.addPod({ name: 'done', node: 'a', finished: 'Succeeded' });
    return scene;
  }

  /** What kubectl shows of the two nodes, by the workload that each pod belongs to. */
  async function seen({ namespace, node }: Scene): Promise<object> {
    const text = await lab.kubectl('-n', namespace, 'get', 'pods', '-o', 'json');
    const { items } = JSON.parse(text) as {
      items: { metadata: { name: string; labels?: { app?: string } }; spec: { nodeName?: string } }[];
    };
    const pods = items.map(({ metadata, spec }) => {
      const place = spec.nodeName === node('a') ? 'a' : 'b';
      return `${metadata.labels?.app ?? metadata.name} on ${place}`;
    });
    const nodes = await lab.kubectl('get', 'node', node('a'), '-o', 'jsonpath={.spec.unschedulable}');
    return { pods: pods.toSorted(), unschedulable: nodes };
  }

  test('leave the same pods on the same nodes', async () => {
    const [ours, theirs] = [await build(), await build()];
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=60s'];
    await lab.kubectl('drain', theirs.node('a'), ...flags);
    await ours.cluster.cordon(ours.node('a'), 'operation-1');
    await ours.drain('a', { ignoreDaemonSets: true, deleteEmptyDirData: true, force: true });
    for (const scene of [ours, theirs]) await scene.until(async () => (await scene.podsOn('b')).length >= 5);
    expect(await seen(ours)).toEqual(await seen(theirs));
    expect(await seen(ours)).toMatchObject({ unschedulable: 'true' });
  });
});
