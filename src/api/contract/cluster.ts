// Kubernetes clusters that pools belong to.
import * as z from 'zod';
import { controlPlaneView } from '../../domain/cluster/control-plane.ts';
import { clusterRecord, clusterView } from '../../domain/cluster/record.ts';
import { name, request } from '../../domain/value/fields.ts';
import { pageOf } from '../schemas/common.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const clusterContract = endpoints('Clusters', {
  listClusters: read('GET /v1/clusters', 'List clusters', { response: pageOf(clusterRecord) }),
  showCluster: read('GET /v1/clusters/{cluster}', 'Show a cluster and its nodes', { response: clusterView }),
  showControlPlane: read('GET /v1/control-plane', 'Show the Kubernetes cluster on this host', {
    response: controlPlaneView,
  }),
  addCluster: create('POST /v1/clusters', 'Register a Kubernetes cluster', {
    role: 'admin',
    description:
      'Connects first, and checks the version and the rights of the credentials. Only the path of the kubeconfig is stored, not its content.',
    body: request('AddClusterRequest', {
      name,
      kubeconfig: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe(
          "Absolute path on the daemon's host, allowed only from that host. Defaults to the service account of the daemon's pod.",
        ),
      context: name.optional().describe('Defaults to the current context.'),
    }),
    response: clusterRecord,
  }),
  removeCluster: write('DELETE /v1/clusters/{cluster}', 'Unregister a cluster that no pool belongs to', {
    role: 'admin',
    response: clusterRecord,
    command: {
      words: 'cluster remove',
      details: 'The cluster itself is not changed.',
      irreversible: true,
      examples: [['imago cluster remove old --yes', 'Unregister it without a prompt']],
      done: 'Cluster {name} is unregistered',
    },
  }),
});
