// Commands for Kubernetes clusters.
import { resolve } from 'node:path';
import type { ResponseOf } from '../../api/contract/types.ts';
import { type Columns, formatCell, keyValueLines, type Style, table } from '../output/table.ts';
import { group, list, operation, show, write } from '../run/builders.ts';
import { isSet, text } from '../spec/command.ts';

type Nodes = ResponseOf<'showCluster'>['nodes'];

const columns: Columns<Nodes[number]> = {
  name: ({ name }) => name,
  ready: ({ ready }) => formatCell(ready),
  schedulable: ({ schedulable }) => formatCell(schedulable),
  version: ({ version }) => version,
  pool: ({ pool }) => pool,
};

function nodeTable(nodes: Nodes, style: Style): readonly string[] {
  return nodes.length === 0 ? [] : ['', ...table(nodes, columns, style)];
}

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
      'kube-context': {
        description: 'Context of the kubeconfig (default: the current one)',
        value: 'NAME',
        field: 'context',
      },
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
  down: operation('stopCluster', {
    summary: 'Stop the Kubernetes cluster on this host',
    details: 'Its data is kept, and `imago cluster up` starts it again. With --erase, the data is deleted.',
    flags: { erase: { description: 'Delete its data too; no pool can belong to it' } },
    irreversible: async (invocation) => isSet(invocation, 'erase'),
    examples: [['imago cluster down', 'Stop it, and keep its data']],
    done: ({ erased }) => (erased === true ? 'The cluster is deleted' : 'The cluster is stopped'),
  }),
  status: show('showControlPlane', {
    summary: 'Show the Kubernetes cluster on this host',
    examples: [['imago cluster status', 'Show its state and nodes']],
    lines: ({ nodes, processes = [], ...state }, { out }) => [
      ...keyValueLines({ ...state, pids: processes.map(({ name, pid }) => `${name} ${pid}`) }),
      ...nodeTable(nodes, out.style),
    ],
  }),
  show: show('showCluster', {
    summary: 'Show a cluster and its nodes',
    args: [{ name: 'CLUSTER', description: 'Name of the cluster' }],
    examples: [['imago cluster show production', 'Show its version and nodes']],
    lines: ({ nodes, by: _by, ...cluster }, { out }) => [
      ...keyValueLines({ ...cluster, nodes: nodes.length }),
      ...nodeTable(nodes, out.style),
    ],
  }),
});
