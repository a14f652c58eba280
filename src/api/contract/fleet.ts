// Pools, nodes, and standalone machines.
import { donorChoice } from '../../domain/capture/donor.ts';
import { donorQuestion } from '../../domain/capture/operations.ts';
import { startFields } from '../../domain/rollout/operations.ts';
import { plannedRollout, rolloutRecord, rolloutStatus } from '../../domain/rollout/record.ts';
import { request } from '../../domain/value/fields.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { node, nodesQuery, nodeWhich, pool, whichQuery } from '../schemas/fleet.ts';
import { machine, machineList } from '../schemas/machine.ts';
import { consoleQuery, execRequest, execResult, nodeConsole, nodeTimeline } from '../schemas/node-access.ts';
import { nodeConfigView } from '../schemas/node-config.ts';
import { endpoints, query, read, write } from './endpoint.ts';

export const poolContract = endpoints('Pools', {
  listPools: read('GET /v1/pools', 'List pools', { query: pageQuery, response: pageOf(pool) }),
  showPool: read('GET /v1/pools/{pool}', 'Show a pool', { response: pool }),
  explainCapture: query(
    'POST /v1/pools/{pool}/capture/explain',
    'Show why each node can or cannot be captured',
    {
      role: 'viewer',
      body: donorQuestion,
      bodyOptional: true,
      response: donorChoice,
    },
  ),
  showRollout: read('GET /v1/pools/{pool}/rollout', 'Show the last rollout of a pool', {
    response: rolloutStatus,
  }),
  planRollout: query('POST /v1/pools/{pool}/rollout/plan', 'Show what a rollout of a pool would do', {
    role: 'viewer',
    body: request('PlanRolloutRequest', startFields),
    bodyOptional: true,
    response: plannedRollout,
  }),
  cancelRollout: write('POST /v1/pools/{pool}/rollout/cancel', 'Stop the rollout of a pool', {
    role: 'operator',
    response: rolloutRecord,
    description: 'Moved nodes stay. New nodes are created from what they were created from before.',
    command: {
      words: 'rollout cancel',
      examples: [['imago rollout cancel web', 'Leave the moved nodes as they are']],
      done: 'The rollout of pool {pool} is being cancelled',
    },
  }),
  pauseRollout: write('POST /v1/pools/{pool}/rollout/pause', 'Pause the rollout of a pool', {
    role: 'operator',
    response: rolloutRecord,
    description: 'Nodes that are already moving finish. Failed nodes still start the rollback.',
    command: {
      words: 'rollout pause',
      examples: [['imago rollout pause web', 'Start no further node']],
      done: 'The rollout of pool {pool} is paused',
    },
  }),
  resumeRollout: write('POST /v1/pools/{pool}/rollout/resume', 'Resume the rollout of a pool', {
    role: 'operator',
    response: rolloutRecord,
    command: {
      words: 'rollout resume',
      examples: [['imago rollout resume web', 'Continue with the next nodes']],
      done: 'The rollout of pool {pool} continues',
    },
  }),
});

export const nodeContract = endpoints('Nodes', {
  listNodes: read('GET /v1/nodes', 'List the live nodes of one pool or of all, by pool and name', {
    query: nodesQuery,
    response: pageOf(node),
  }),
  showNode: read('GET /v1/nodes/{node}', 'Show a node, including a deleted one', { response: node }),
  whichNode: read(
    'GET /v1/nodes/{node}/which',
    'Show which version a node was created from, and which channel move selected it',
    { query: whichQuery, response: nodeWhich },
  ),
  readConsole: read('GET /v1/nodes/{node}/console', 'Show the last lines of the boot console of a node', {
    query: consoleQuery,
    response: nodeConsole,
  }),
  followConsole: read('GET /v1/nodes/{node}/console/follow', 'Stream the boot console of a node', {
    query: consoleQuery,
    stream: 'download',
    description: 'Sends the last lines, then each new one, as UTF-8 text. Ends when the machine stops.',
  }),
  showTimeline: read('GET /v1/nodes/{node}/timeline', 'Show the boot timeline of a node', {
    response: nodeTimeline,
  }),
  execOnNode: write('POST /v1/nodes/{node}/exec', 'Run a command on a node as root', {
    role: 'operator',
    body: execRequest,
    response: execResult,
    secret: true,
    description:
      'Responds when the command has ended. The audit log has the program and the exit code, not its arguments and output, which can contain secrets.',
  }),
  openShell: query('POST /v1/nodes/{node}/shell', 'Open a root shell on a node', {
    role: 'operator',
    stream: 'duplex',
    audited: true,
    description:
      'Sends bytes in both directions concurrently. The request is one JSON document per line: `{"input": BASE64}` for keys, `{"rows", "columns"}` for the size of the terminal. The response is the raw output of the shell. Ends with the shell, or when the caller ends the request.',
  }),
  showNodeConfig: read(
    'GET /v1/nodes/{node}/config',
    'Show the active, target, and pending config of a node',
    { response: nodeConfigView },
  ),
  allowNodeConfig: write('POST /v1/nodes/{node}/config/allow', 'Allow a node to apply its pending config', {
    role: 'operator',
    response: nodeConfigView,
    description:
      'For callers that drained the node, or that allow its services to restart. Has no effect on a node without a pending config.',
  }),
  listMachines: read('GET /v1/machines', 'List the machines of every provider that do not belong to a pool', {
    response: machineList,
  }),
  showMachine: read('GET /v1/machines/{machine}', 'Show a standalone machine', { response: machine }),
  deleteMachine: write('DELETE /v1/machines/{machine}', 'Delete a standalone machine and its disk', {
    role: 'operator',
    response: machine,
    description: 'A test that is running on the machine fails.',
    command: {
      words: 'machine delete',
      irreversible: true,
      examples: [['imago machine delete test-4f1a-1 --yes', 'Delete a machine without a prompt']],
      done: 'Machine {name} and its disk are being deleted',
    },
  }),
});
