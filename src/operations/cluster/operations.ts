// Starts and stops the Kubernetes cluster of this host.
import { localCluster } from '../../domain/cluster/control-plane.ts';
import * as declared from '../../domain/cluster/operations.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ControlPlane } from '../../ports/kube/control-plane.ts';
import type { OperationDeps } from '../common/deps.ts';
import { operation } from '../common/operation.ts';

function requirePlane({ controlPlane }: OperationDeps): ControlPlane {
  if (controlPlane !== undefined) return controlPlane;
  throw new ImagoError('provider-lacks', 'This daemon cannot run a Kubernetes cluster.');
}

export const clusterUp = operation(declared.clusterUp, {
  async plan(run) {
    const found = await requirePlane(run).look();
    const version = run.input.version ?? found?.version;
    const what = version === undefined ? 'Kubernetes' : `Kubernetes ${version}`;
    const isRunning = found !== undefined && found.processes.length > 0;
    return [
      isRunning && found.version === version
        ? `${what} is running at ${found.server}.`
        : `Start ${what} on this host, and register it as cluster ${localCluster}.`,
    ];
  },
})
  .step('remember', async (run) => {
    const found = await requirePlane(run).look();
    return { wasRunning: found !== undefined && found.processes.length > 0 };
  })
  .step('start', {
    timeoutMs: 300_000,
    do: (run) => {
      const { version } = run.input;
      const progress = (sentence: string) => run.progress(0, 1, sentence);
      return requirePlane(run).up({ version, signal: run.signal, progress });
    },
    async undo(run) {
      if (!run.result('remember').wasRunning) await requirePlane(run).down({ erase: false });
    },
  })
  .step('register', async (run) => {
    const { uid, server, kubeconfig, version } = run.result('start');
    await run.clusterBook.add({ name: localCluster, uid, server, kubeconfig, by: run.operation.by });
    return { name: localCluster, version, server, kubeconfig };
  });

export const clusterDown = operation(declared.clusterDown, {
  async plan(run) {
    const found = await requirePlane(run).look();
    if (found === undefined) return ['There is no Kubernetes cluster on this host.'];
    if (run.input.erase)
      return [`Stop Kubernetes ${found.version}, and delete its data. This cannot be undone.`];
    return [`Stop Kubernetes ${found.version}. Its data is kept.`];
  },
})
  .step('unregister', async (run) => {
    if (run.input.erase) await run.clusterBook.remove(localCluster);
    return {};
  })
  .step('stop', async (run) => {
    await requirePlane(run).down({ erase: run.input.erase });
    return { name: localCluster, erased: run.input.erase };
  });
