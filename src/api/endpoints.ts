// Where each endpoint of the API is. Plain data: the client needs nothing else at run time, so that a command
// starts without loading the schemas. What goes in and comes out is in contract.ts.

export type Method = 'GET' | 'POST' | 'DELETE';

export interface EndpointAddress {
  readonly method: Method;
  /** Parameters stand in braces, as in OpenAPI. */
  readonly path: `/v1/${string}`;
}

export const endpoints = {
  status: { method: 'GET', path: '/v1/status' },
  doctor: { method: 'GET', path: '/v1/doctor' },
  version: { method: 'GET', path: '/v1/version' },
  shutdown: { method: 'POST', path: '/v1/shutdown' },

  listImages: { method: 'GET', path: '/v1/images' },
  showImage: { method: 'GET', path: '/v1/images/{image}' },
  listVersions: { method: 'GET', path: '/v1/images/{image}/versions' },
  showVersion: { method: 'GET', path: '/v1/images/{image}/versions/{version}' },
  listEvidence: { method: 'GET', path: '/v1/images/{image}/versions/{version}/evidence' },
  resolve: { method: 'GET', path: '/v1/resolve' },

  listChannels: { method: 'GET', path: '/v1/images/{image}/channels' },
  listMoves: { method: 'GET', path: '/v1/images/{image}/moves' },
  promote: { method: 'POST', path: '/v1/channels/promote' },
  rollbackChannel: { method: 'POST', path: '/v1/channels/rollback' },

  createBuild: { method: 'POST', path: '/v1/builds' },
  createTest: { method: 'POST', path: '/v1/tests' },

  listPools: { method: 'GET', path: '/v1/pools' },
  createPool: { method: 'POST', path: '/v1/pools' },
  showPool: { method: 'GET', path: '/v1/pools/{pool}' },
  deletePool: { method: 'DELETE', path: '/v1/pools/{pool}' },
  scalePool: { method: 'POST', path: '/v1/pools/{pool}/scale' },
  setPoolImage: { method: 'POST', path: '/v1/pools/{pool}/image' },

  listNodes: { method: 'GET', path: '/v1/nodes' },
  showNode: { method: 'GET', path: '/v1/nodes/{node}' },
  whichNode: { method: 'GET', path: '/v1/nodes/{node}/which' },

  listOperations: { method: 'GET', path: '/v1/operations' },
  showOperation: { method: 'GET', path: '/v1/operations/{operation}' },
  waitOperation: { method: 'GET', path: '/v1/operations/{operation}/wait' },
  listOperationChildren: { method: 'GET', path: '/v1/operations/{operation}/children' },
  listOperationLogs: { method: 'GET', path: '/v1/operations/{operation}/logs' },
  cancelOperation: { method: 'POST', path: '/v1/operations/{operation}/cancel' },
  retryOperation: { method: 'POST', path: '/v1/operations/{operation}/retry' },
  sendToOperation: { method: 'POST', path: '/v1/operations/{operation}/send' },

  watchEvents: { method: 'GET', path: '/v1/events' },

  listSchedules: { method: 'GET', path: '/v1/schedules' },
  createSchedule: { method: 'POST', path: '/v1/schedules' },
  deleteSchedule: { method: 'DELETE', path: '/v1/schedules/{schedule}' },

  listTokens: { method: 'GET', path: '/v1/tokens' },
  createToken: { method: 'POST', path: '/v1/tokens' },
  revokeToken: { method: 'DELETE', path: '/v1/tokens/{token}' },
  listAudit: { method: 'GET', path: '/v1/audit' },

  backup: { method: 'GET', path: '/v1/backup' },
  restore: { method: 'POST', path: '/v1/restore' },

  listFaults: { method: 'GET', path: '/v1/sim/faults' },
  addFault: { method: 'POST', path: '/v1/sim/faults' },
  removeFault: { method: 'DELETE', path: '/v1/sim/faults/{fault}' },
  showSimTime: { method: 'GET', path: '/v1/sim/time' },
  setSimTime: { method: 'POST', path: '/v1/sim/time' },
} as const satisfies Record<string, EndpointAddress>;

export type EndpointName = keyof typeof endpoints;

export const endpointNames = Object.keys(endpoints) as readonly EndpointName[];
