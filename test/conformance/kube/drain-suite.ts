// Cordon, drain, and uncordon by kubectl's rules, over any cluster: one test per rule. The simulated cluster and a real
// API server must both pass.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { follow } from '../../../src/kube/follow.ts';
import type { DrainEvent } from '../../../src/ports/kube/cluster.ts';
import { controlled, type KubeLab, makeScene } from './lab.ts';

const owner = 'operation-1';

export function describeDrain(name: string, open: () => Promise<KubeLab>, openMs?: number): void {
  describe(name, () => {
    let lab: KubeLab;
    beforeAll(async () => {
      lab = await open();
    }, openMs);
    afterAll(() => lab?.close());

    describe('cordon', () => {
      test('makes a node unschedulable, and uncordon restores it', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const { cluster, node } = scene;
        const cordoned = await cluster.cordon(node('a'), owner);
        expect(cordoned.wasSchedulable).toBe(true);
        expect((await cluster.node(node('a')))?.spec?.unschedulable).toBe(true);
        expect(await cluster.cordon(node('a'), owner)).toEqual(cordoned);
        expect(await cluster.uncordon(node('a'), { owner, uid: cordoned.uid })).toBe('schedulable');
        const after = await cluster.node(node('a'));
        expect(after?.spec?.unschedulable).toBeUndefined();
        expect(after?.metadata.annotations?.['imago.dev/cordoned-by']).toBeUndefined();
        expect(await cluster.uncordon(node('a'), { owner, uid: cordoned.uid })).toBe('schedulable');
      });

      test('leaves a node cordoned that another user cordoned before', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const { cluster, node } = scene;
        await lab.cordonAsOperator(node('a'), true);
        const cordoned = await cluster.cordon(node('a'), owner);
        expect(cordoned.wasSchedulable).toBe(false);
        expect(await cluster.uncordon(node('a'), { owner, uid: cordoned.uid })).toBe('kept');
        expect((await cluster.node(node('a')))?.spec?.unschedulable).toBe(true);
      });

      test('leaves a node cordoned that another user cordoned again in the meantime', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const { cluster, node } = scene;
        const { uid } = await cluster.cordon(node('a'), owner);
        await lab.cordonAsOperator(node('a'), false);
        await lab.cordonAsOperator(node('a'), true);
        expect(await cluster.uncordon(node('a'), { owner, uid })).toBe('kept');
        const after = await cluster.node(node('a'));
        expect(after?.spec?.unschedulable).toBe(true);
        expect(after?.metadata.annotations?.['imago.dev/cordoned-by']).toBeUndefined();
      });

      test('leaves a node alone that another user uncordoned, and one of the same name with a new uid', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const { cluster, node } = scene;
        const { uid } = await cluster.cordon(node('a'), owner);
        await lab.cordonAsOperator(node('a'), false);
        expect(await cluster.uncordon(node('a'), { owner, uid })).toBe('schedulable');
        const second = await cluster.cordon(node('a'), owner);
        expect(await cluster.uncordon(node('a'), { owner, uid: 'another' })).toBe('replaced');
        expect((await cluster.node(node('a')))?.spec?.unschedulable).toBe(true);
        expect(second.uid).toBe(uid);
      });

      test('leaves a node cordoned that another operation cordoned', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const { cluster, node } = scene;
        const { uid } = await cluster.cordon(node('a'), owner);
        expect(await cluster.cordon(node('a'), 'operation-2')).toEqual({ uid, wasSchedulable: false });
        expect(await cluster.uncordon(node('a'), { owner: 'operation-2', uid })).toBe('kept');
        expect((await cluster.node(node('a')))?.spec?.unschedulable).toBe(true);
        expect(await cluster.uncordon(node('a'), { owner, uid })).toBe('schedulable');
      });

      test('reports a node that does not exist', async () => {
        const { cluster, node } = await makeScene(lab);
        await expect(cluster.cordon(node('none'), owner)).rejects.toMatchObject({ code: 'node-not-found' });
      });
    });

    describe('the rules for pods', () => {
      test('refuse a pod without a controller, and evict nothing at all', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'bare', node: 'a' });
        await scene.addPod({ name: 'fine', node: 'a', ...controlled });
        await expect(scene.drain('a')).rejects.toMatchObject({
          code: 'drain-blocked',
          message: expect.stringContaining(`${scene.namespace}/bare has no controller`),
        });
        expect((await scene.pod('fine'))?.metadata.deletionTimestamp).toBeUndefined();
        const { evicted } = await scene.drain('a', { force: true });
        expect(evicted).toEqual([`${scene.namespace}/bare`, `${scene.namespace}/fine`]);
        expect(await scene.podsOn('a')).toEqual([]);
      });

      test('take an owner that is not the controller for none', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const [thing] = controlled.ownerReferences;
        await scene.addPod({
          ...{ name: 'owned', node: 'a' },
          ownerReferences: [{ ...thing, controller: false } as (typeof controlled.ownerReferences)[number]],
        });
        await expect(scene.drain('a')).rejects.toMatchObject({ code: 'drain-blocked' });
      });

      test('refuse a pod with an emptyDir, unless its data can be deleted or it has finished', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'done', node: 'a', emptyDir: true, finished: 'Succeeded' });
        await scene.addPod({ name: 'local', node: 'a', emptyDir: true, ...controlled });
        const { plan } = await scene.cluster.previewDrain(scene.node('a'), {});
        expect(plan.refuse.map(({ pod }) => pod.metadata.name)).toEqual(['local']);
        expect(plan.evict.map(({ pod }) => pod.metadata.name)).toEqual(['done']);
        await expect(scene.drain('a')).rejects.toMatchObject({
          code: 'drain-blocked',
          message: expect.stringContaining('emptyDir scratch'),
        });
        await scene.drain('a', { deleteEmptyDirData: true });
        expect(await scene.podsOn('a')).toEqual([]);
      });

      test('refuse DaemonSet pods unless they are ignored, and then keep them', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addDaemonSet('agent');
        await expect(scene.drain('a')).rejects.toMatchObject({
          code: 'drain-blocked',
          message: expect.stringContaining(`the DaemonSet ${scene.namespace}/agent`),
        });
        const { kept } = await scene.drain('a', { ignoreDaemonSets: true });
        expect(kept).toHaveLength(1);
        expect(await scene.podsOn('a')).toHaveLength(1);
        expect(await scene.cluster.podsLeft(scene.node('a'), { ignoreDaemonSets: true })).toEqual([]);
      });

      test('refuse a pod whose DaemonSet does not exist, unless forced', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        // The garbage collector deletes pods of owners that never existed: a finalizer keeps this one.
        const orphan = {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          name: 'gone',
          uid: 'gone',
          controller: true,
        };
        const { plan } = await planOf(
          scene,
          { ownerReferences: [orphan], finalizers: ['example.test/hold'] },
          { ignoreDaemonSets: true },
        );
        expect(plan.refuse[0]?.reasons.join()).toMatch(/DaemonSet .*\/gone does not exist/);
        const forced = await scene.cluster.previewDrain(scene.node('a'), {
          ignoreDaemonSets: true,
          force: true,
        });
        expect(forced.plan.evict).toHaveLength(1);
      });

      test('keep static pods silently', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const annotations = { 'kubernetes.io/config.mirror': 'x' };
        await scene.addPod({ name: 'static', node: 'a', annotations });
        expect(await scene.drain('a')).toMatchObject({ evicted: [], kept: [`${scene.namespace}/static`] });
      });

      test('do not wait for pods that have been terminating for too long', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'stuck', node: 'a', neverTerminates: true, ...controlled });
        const { namespace } = scene;
        await lab.api.delete('pods', { namespace, name: 'stuck' }, { gracePeriodSeconds: 1 });
        await scene.until(async () => {
          const { plan } = await scene.cluster.previewDrain(scene.node('a'), {
            skipTerminatingAfterSeconds: 1,
          });
          return plan.keep.length === 1;
        });
        const options = { timeoutMs: 1_000, skipTerminatingAfterSeconds: 1 };
        expect(await scene.drain('a', options)).toMatchObject({ kept: [`${namespace}/stuck`] });
        await expect(scene.drain('a', { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'drain-timeout' });
      });
    });

    describe('eviction', () => {
      test('moves a workload to another node, one pod at a time if its budget allows no more', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addReplicaSet('web', 4);
        await scene.addNode('b');
        await scene.addBudget('web', { minAvailable: 3 });
        const { uid } = await scene.cluster.cordon(scene.node('a'), owner);
        const preview = await scene.cluster.previewDrain(scene.node('a'), {});
        expect(preview.blockers).toMatchObject([
          {
            budgets: [`${scene.namespace}/web`],
            blocks: 'waits',
            reason: expect.stringContaining('1 of 4 pods'),
          },
        ]);
        const events: DrainEvent[] = [];
        await scene.drain('a', { progress: (event) => events.push(event) });
        expect(await scene.podsOn('a')).toEqual([]);
        expect(events.filter(({ state }) => state === 'gone')).toHaveLength(4);
        expect(events.some(({ reason }) => reason?.includes('budget'))).toBe(true);
        await scene.until(async () => (await scene.podsOn('b')).length === 4);
        await scene.cluster.uncordon(scene.node('a'), { owner, uid });
      });

      test('ends at the deadline if a budget never allows it, and names the budget', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addReplicaSet('web', 2);
        await scene.addBudget('web', { maxUnavailable: 0 });
        const { blockers } = await scene.cluster.previewDrain(scene.node('a'), {});
        expect(blockers).toMatchObject([
          { blocks: 'never', reason: expect.stringContaining('no pod can ever leave') },
        ]);
        await expect(scene.drain('a', { timeoutMs: 2_000 })).rejects.toMatchObject({
          code: 'drain-timeout',
          message: expect.stringMatching(/disruption budget web needs 2 healthy pods and has 2/),
        });
        expect(
          (await scene.podsOn('a')).every(({ metadata }) => metadata.deletionTimestamp === undefined),
        ).toBe(true);
      });

      test('fails for a pod that two budgets select, and moves the others', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addReplicaSet('web', 2);
        await scene.addBudget('one', { minAvailable: 1 }, 'web');
        await scene.addBudget('two', { minAvailable: 1 }, 'web');
        await scene.addPod({ name: 'free', node: 'a', ...controlled });
        const { blockers } = await scene.cluster.previewDrain(scene.node('a'), {});
        expect(blockers).toMatchObject([{ blocks: 'never' }, { blocks: 'never' }]);
        await expect(scene.drain('a')).rejects.toMatchObject({
          code: 'drain-failed',
          message: expect.stringContaining('more than one PodDisruptionBudget'),
        });
        expect(await scene.pod('free')).toBeUndefined();
      });

      test('lets pods leave past a budget that are not ready, if the budget is met or says always', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const labels = { app: 'ill' };
        await scene.addPod({ name: 'ill', node: 'a', labels, neverReady: true, ...controlled });
        await scene.addPod({ name: 'well', node: 'a', labels, ...controlled });
        await scene.addBudget('ill', { minAvailable: 2 });
        await expect(scene.drain('a', { timeoutMs: 1_500 })).rejects.toMatchObject({ code: 'drain-timeout' });
        expect(await scene.pod('ill')).toBeDefined();
        await lab.api.patch(
          'poddisruptionbudgets',
          { namespace: scene.namespace, name: 'ill' },
          { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
        );
        await expect(scene.drain('a', { timeoutMs: 2_500 })).rejects.toMatchObject({ code: 'drain-timeout' });
        expect(await scene.pod('ill')).toBeUndefined();
        expect(await scene.pod('well')).toBeDefined();
      });

      test('deletes past every budget if eviction is disabled', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'one', node: 'a', labels: { app: 'one' }, ...controlled });
        await scene.addBudget('one', { minAvailable: 1 });
        await scene.drain('a', { disableEviction: true });
        expect(await scene.pod('one')).toBeUndefined();
      });

      test('takes a pod with the same name and a new uid for another pod', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const first = await scene.addPod({ name: 'db-0', node: 'a', neverTerminates: true, ...controlled });
        await scene.addPod({ name: 'slow', node: 'a', neverTerminates: true, ...controlled });
        const draining = scene.drain('a');
        const { namespace } = scene;
        const isEvicted = async (name: string) =>
          (await scene.pod(name))?.metadata.deletionTimestamp !== undefined;
        await scene.until(async () => (await isEvicted('db-0')) && (await isEvicted('slow')));
        await lab.api.delete('pods', { namespace, name: 'db-0' }, { gracePeriodSeconds: 0 });
        const second = await scene.addPod({ name: 'db-0', node: 'a', ...controlled });
        await lab.api.delete('pods', { namespace, name: 'slow' }, { gracePeriodSeconds: 0 });
        expect(await draining).toMatchObject({ arrived: [`${namespace}/db-0`] });
        expect(second.metadata.uid).not.toBe(first.metadata.uid);
        expect((await scene.pod('db-0'))?.metadata.uid).toBe(second.metadata.uid);
        expect(await isEvicted('db-0')).toBe(false);
      });

      test('waits for finalizers until the deadline, names them, and continues later', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        const finalizers = ['example.test/hold'];
        await scene.addPod({ name: 'held', node: 'a', finalizers, ...controlled });
        await expect(scene.drain('a', { timeoutMs: 1_500 })).rejects.toMatchObject({
          code: 'drain-timeout',
          message: expect.stringContaining('example.test/hold'),
        });
        const name = { namespace: scene.namespace, name: 'held' };
        await lab.api.patch('pods', name, { metadata: { finalizers: null } });
        await scene.drain('a');
        expect(await scene.pod('held')).toBeUndefined();
      });

      test('finds pods that arrive after the drain has listed its pods', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'slow', node: 'a', neverTerminates: true, ...controlled });
        const draining = scene.drain('a');
        await scene.until(async () => (await scene.pod('slow'))?.metadata.deletionTimestamp !== undefined);
        await scene.addPod({ name: 'late', node: 'a', ...controlled });
        const name = { namespace: scene.namespace, name: 'slow' };
        await lab.api.delete('pods', name, { gracePeriodSeconds: 0 });
        expect(await draining).toMatchObject({
          evicted: [`${scene.namespace}/slow`],
          arrived: [`${scene.namespace}/late`],
        });
        const left = await scene.cluster.podsLeft(scene.node('a'), {});
        expect(left.map(({ metadata }) => metadata.name)).toEqual(['late']);
      });

      test('stops when it is cancelled', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({ name: 'slow', node: 'a', neverTerminates: true, ...controlled });
        const abort = new AbortController();
        const draining = scene.drain('a', { signal: abort.signal });
        const ended = expect(draining).rejects.toMatchObject({ code: 'cancelled' });
        await scene.until(async () => (await scene.pod('slow'))?.metadata.deletionTimestamp !== undefined);
        abort.abort();
        await ended;
      });

      test('waits for the pods of a namespace that is being deleted', async () => {
        const scene = await makeScene(lab);
        await scene.addNode('a');
        await scene.addPod({
          name: 'one',
          node: 'a',
          annotations: { 'sim.imago.dev/terminate': '1500' },
          ...controlled,
        });
        await lab.api.delete('namespaces', { name: scene.namespace });
        await scene.drain('a');
        expect(await scene.podsOn('a')).toEqual([]);
      });
    });

    test('a preview changes nothing', async () => {
      const scene = await makeScene(lab);
      await scene.addNode('a');
      await scene.addPod({ name: 'one', node: 'a', ...controlled });
      const before = [await scene.cluster.node(scene.node('a')), await scene.podsOn('a')];
      await scene.cluster.previewDrain(scene.node('a'), { force: true });
      expect([await scene.cluster.node(scene.node('a')), await scene.podsOn('a')]).toEqual(before);
    });

    test('a watch reports each change once, from a list on', async () => {
      const scene = await makeScene(lab);
      await scene.addNode('a');
      const abort = new AbortController();
      const { signal } = abort;
      const seen: string[] = [];
      const watching = (async () => {
        const selection = { namespace: scene.namespace, signal };
        for await (const change of follow(lab.api, lab.clock, 'pods', selection))
          seen.push(
            change.type === 'list'
              ? `list ${change.items.length}`
              : `${change.type} ${change.object.metadata.name}`,
          );
      })();
      await scene.until(async () => seen.length === 1);
      await scene.addPod({ name: 'one', node: 'a', ...controlled });
      await scene.drain('a');
      await scene.until(async () => seen.at(-1) === 'deleted one');
      abort.abort();
      await watching;
      expect(seen.filter((line) => line.startsWith('list'))).toEqual(['list 0']);
      expect(seen.filter((line) => /^(?:added|deleted)/.test(line))).toEqual(['added one', 'deleted one']);
    });
  });
}

async function planOf(
  scene: Awaited<ReturnType<typeof makeScene>>,
  pod: object,
  rules: { readonly ignoreDaemonSets: boolean },
) {
  await scene.addPod({ name: 'orphan', node: 'a', ...pod });
  return scene.cluster.previewDrain(scene.node('a'), rules);
}
