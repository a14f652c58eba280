// The operations on the Kubernetes cluster of this host.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { request } from '../value/fields.ts';
import { localCluster } from './control-plane.ts';

const subject = () => `cluster/${localCluster}`;

const upFields = {
  version: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/, 'must be a version such as 1.36.3')
    .optional()
    .describe('Version of Kubernetes. Defaults to the one that it has, or the newest one on this host.'),
};

export const clusterUp = declareOperation({
  kind: 'cluster-up',
  role: 'admin',
  subject,
  input: z.object(upFields),
  routes: {
    startCluster: {
      address: 'POST /v1/control-plane/start',
      tag: 'Clusters',
      summary: 'Start a Kubernetes cluster on this host',
      description:
        'Runs etcd, kube-apiserver, kube-controller-manager, and kube-scheduler on loopback, with data in the state directory, and registers the cluster as `local`. It keeps running if the daemon restarts.',
      command: {
        words: 'cluster up',
        examples: [['imago cluster up', 'Start it, or find it running']],
        done: 'Kubernetes {version} is running at {server}. Use it with `kubectl --kubeconfig {kubeconfig}`',
      },
      body: request('StartClusterRequest', upFields),
      bodyOptional: true,
    },
  },
});

const downFields = { erase: z.boolean().default(false).describe('Delete its data, and unregister it.') };

export const clusterDown = declareOperation({
  kind: 'cluster-down',
  role: 'admin',
  subject,
  input: z.object(downFields),
  routes: {
    stopCluster: {
      address: 'POST /v1/control-plane/stop',
      tag: 'Clusters',
      summary: 'Stop the Kubernetes cluster on this host',
      body: request('StopClusterRequest', downFields),
      bodyOptional: true,
    },
  },
});
