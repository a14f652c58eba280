// Random nodes, rules, operators, and lost replies on the simulated cluster, in virtual time.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import { nameOf, type Pod } from '../../../src/domain/kube/objects.ts';
import { clusterOf } from '../../../src/kube/cluster.ts';
import { kubeletAnnotations, startKubelet } from '../../../src/kube/sim/kubelet.ts';
import { simulateCluster } from '../../../src/kube/sim/simulated-cluster.ts';
import type { KubeApi } from '../../../src/ports/kube/api.ts';
import { createVirtualClock } from '../../support/sim/virtual-clock.ts';
import { controlled } from './lab.ts';

const numRuns = process.env.IMAGO_SOAK === undefined ? 150 : 3_000;
const namespace = 'n';

const podArbitrary = fc.record({
  isManaged: fc.boolean(),
  hasLocalData: fc.boolean(),
  isFinished: fc.boolean(),
  isStatic: fc.boolean(),
  ready: fc.constantFrom('yes', 'never'),
  terminate: fc.constantFrom('0', '700', '12000', 'never'),
  app: fc.constantFrom('a', 'b'),
});

const rulesArbitrary = fc.record({
  force: fc.boolean(),
  ignoreDaemonSets: fc.boolean(),
  deleteEmptyDirData: fc.boolean(),
  disableEviction: fc.boolean(),
});

/** Loses requests and replies while it is on: the call took effect in every second case. */
function lossy(api: KubeApi, isLost: () => boolean): KubeApi {
  const lose = async <T>(work: () => Promise<T>): Promise<T> => {
    const error = new ImagoError('cluster-unreachable', 'The connection was lost.');
    if (isLost()) throw error;
    const result = await work();
    if (isLost()) throw error;
    return result;
  };
  return {
    ...api,
    evict: (...args) => lose(() => api.evict(...args)),
    delete: (...args) => lose(() => api.delete(...args)),
  };
}

test('a drain evicts exactly what the rules allow, in time, whatever is lost on the way', async () => {
  const property = fc.asyncProperty(
    fc.array(podArbitrary, { maxLength: 6 }),
    fc.array(fc.record({ app: fc.constantFrom('a', 'b'), minAvailable: fc.integer({ min: 0, max: 4 }) }), {
      maxLength: 2,
    }),
    rulesArbitrary,
    fc.array(fc.boolean(), { maxLength: 30 }),
    async (pods, budgets, rules, losses) => {
      const clock = createVirtualClock({ auto: true });
      const simulated = simulateCluster(clock);
      const api = simulated.apiAs('imago');
      const kubelet = startKubelet(simulated.apiAs('kubelet'), clock);
      await api.create('nodes', { metadata: { name: 'node' } });
      for (const [index, pod] of pods.entries()) {
        const name = `p${index}`;
        await api.create('pods', {
          metadata: {
            ...{ name, namespace, labels: { app: pod.app }, ...(pod.isManaged ? controlled : {}) },
            annotations: {
              [kubeletAnnotations.ready]: pod.ready,
              [kubeletAnnotations.terminate]: pod.terminate,
              ...(pod.isStatic ? { 'kubernetes.io/config.mirror': 'x' } : {}),
            },
          },
          spec: { nodeName: 'node', ...(pod.hasLocalData ? { volumes: [{ name: 'v', emptyDir: {} }] } : {}) },
        });
      }
      await clock.sleep(1_000);
      for (const [index, pod] of pods.entries())
        if (pod.isFinished)
          await api.patch('pods', { namespace, name: `p${index}` }, { status: { phase: 'Failed' } });
      for (const [index, { app, minAvailable }] of budgets.entries())
        await api.create('poddisruptionbudgets', {
          metadata: { namespace, name: `b${index}` },
          spec: { minAvailable, selector: { matchLabels: { app } } },
        });

      const before = (await api.list('pods')).items;
      const cluster = clusterOf(
        lossy(api, () => losses.pop() === true),
        clock,
      );
      const { plan, blockers } = await cluster.previewDrain('node', rules);
      const start = clock.now();
      const outcome = await cluster.drain('node', { ...rules, timeoutMs: 60_000 }).then(
        () => 'drained',
        (error: ImagoError) => error.code,
      );
      const took = clock.now() - start;
      const after = (await api.list('pods')).items;
      const present = (pod: Pod) => after.find(({ metadata }) => metadata.uid === pod.metadata.uid);
      await kubelet.stop();

      expect(took).toBeLessThanOrEqual(61_000);
      if (plan.refuse.length > 0) {
        expect(outcome).toBe('drain-blocked');
        expect(after).toEqual(before);
        return;
      }
      for (const { pod } of plan.keep) expect(present(pod)).toEqual(pod);
      const left = plan.evict.filter(({ pod }) => present(pod) !== undefined);
      if (outcome === 'drained') expect(left).toEqual([]);
      else expect(['drain-timeout', 'drain-failed']).toContain(outcome);
      // Without blockers, only pods that never terminate stay.
      const stuck = plan.evict.filter(
        ({ pod }) =>
          pod.metadata.annotations?.[kubeletAnnotations.terminate] === 'never' &&
          pod.status?.phase === 'Running',
      );
      const canBlock = rules.disableEviction ? [] : blockers;
      if (canBlock.length === 0) expect(outcome).toBe(stuck.length === 0 ? 'drained' : 'drain-timeout');
      const blocked = canBlock.filter(({ blocks }) => blocks === 'never').flatMap((blocker) => blocker.pods);
      for (const name of blocked) expect(left.map(({ pod }) => nameOf(pod))).toContain(name);
    },
  );
  await fc.assert(property, { numRuns });
});

test('uncordon restores what cordon found, whatever an operator does in the meantime', async () => {
  const actions = fc.array(fc.constantFrom('cordon', 'uncordon', 'operator cordons', 'operator uncordons'), {
    maxLength: 12,
  });
  const property = fc.asyncProperty(actions, async (list) => {
    const clock = createVirtualClock({ auto: true });
    const simulated = simulateCluster(clock);
    const cluster = clusterOf(simulated.apiAs('imago'), clock);
    const operator = simulated.apiAs('kubectl');
    const { metadata } = await operator.create('nodes', { metadata: { name: 'node' } });
    let by: 'no one' | 'imago' | 'operator' = 'no one';
    for (const action of list) {
      if (action === 'cordon') {
        await cluster.cordon('node', 'operation');
        if (by === 'no one') by = 'imago';
      } else if (action === 'uncordon') {
        await cluster.uncordon('node', { owner: 'operation', uid: metadata.uid ?? '' });
        if (by === 'imago') by = 'no one';
      } else {
        const isCordoned = action === 'operator cordons';
        await operator.patch(
          'nodes',
          { name: 'node' },
          { spec: { unschedulable: isCordoned ? true : null } },
        );
        if (!isCordoned) by = 'no one';
        else if (by === 'no one') by = 'operator';
      }
      expect((await cluster.node('node'))?.spec?.unschedulable === true).toBe(by !== 'no one');
    }
  });
  await fc.assert(property, { numRuns });
});
