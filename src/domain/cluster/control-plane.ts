// The state of the control plane on this host.
import * as z from 'zod';
import { listOf, record } from '../value/fields.ts';
import { clusterView } from './record.ts';

/** The name that the cluster of this host is registered by. */
export const localCluster = 'local';

/** The address of this host on the network of its machines. */
export const hostOfMachines = '168.63.129.1';

export const controlPlaneState = z.object({
  version: z.string().describe('Version of Kubernetes, such as 1.36.3.'),
  server: z.string().describe('Address of the API server.'),
  kubeconfig: z.string().describe("Path of the administrator's kubeconfig."),
  processes: listOf(z.object({ name: z.string(), pid: z.int() })).describe('Programs that are running.'),
});
export type ControlPlaneState = z.output<typeof controlPlaneState>;

export const controlPlaneView = record('ControlPlane', 'The Kubernetes cluster on this host.', {
  ...controlPlaneState.partial().shape,
  state: z
    .enum(['absent', 'stopped', 'degraded', 'running'])
    .describe('`degraded`: some of its programs are not running, or it does not respond.'),
  trouble: clusterView.shape.trouble,
  nodes: clusterView.shape.nodes,
});
