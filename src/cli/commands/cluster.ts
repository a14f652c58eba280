// Commands for Kubernetes clusters.
import { resolve } from 'node:path';
import type { ResponseOf } from '../../api/contract/types.ts';
import { type Columns, formatCell, keyValueLines, table } from '../output/table.ts';
import { group, list, show, write } from '../run/builders.ts';
import { text } from '../spec/command.ts';

const nodeColumns: Columns<ResponseOf<'showCluster'>['nodes'][number]> = {
  name: ({ name }) => name,
  ready: ({ ready }) => formatCell(ready),
  schedulable: ({ schedulable }) => formatCell(schedulable),
  version: ({ version }) => version,
  pool: ({ pool }) => pool,
};

export const command = group({
  add: write('addCluster', {
    summary: 'Register a Kubernetes cluster',
    details:
      'Connects first, and reports a server that does not respond, missing rights, and unsupported versions. Imago stores only the path of the kubeconfig: keep the file where the daemon can read it.',
    args: [{ name: 'NAME', description: 'Name of the cluster in Imago' }],
    flags: {
      kubeconfig: {
        description: "Kubeconfig of the cluster (default: the service account of the daemon's pod)",
        value: 'FILE',
        completes: 'file',
        field: false,
      },
      context: { description: 'Context of the kubeconfig (default: the current one)', value: 'NAME' },
    },
    examples: [['imago cluster add production --kubeconfig ~/.kube/config', 'Register the current context']],
    more: (invocation) => {
      const file = text(invocation, 'kubeconfig');
      return file === undefined ? {} : { kubeconfig: resolve(file) };
    },
    done: ({ name, server }) => `Cluster ${name} is registered: ${server}`,
  }),
  list: list('listClusters', {
    summary: 'List clusters',
    examples: [['imago cluster list', 'List the clusters that pools can belong to']],
    columns: ['name', 'server', 'kubeconfig', 'context', 'simulated'],
  }),
  show: show('showCluster', {
    summary: 'Show a cluster and its nodes',
    args: [{ name: 'CLUSTER', description: 'Name of the cluster' }],
    examples: [['imago cluster show production', 'Show its version and nodes']],
    lines: ({ nodes, by: _by, ...cluster }, { out }) => [
      ...keyValueLines({ ...cluster, nodes: nodes.length }),
      ...(nodes.length === 0 ? [] : ['', ...table(nodes, nodeColumns, out.style)]),
    ],
  }),
});
