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
  listSettings: { method: 'GET', path: '/v1/settings' },
  setSetting: { method: 'POST', path: '/v1/settings/{setting}' },
  unsetSetting: { method: 'DELETE', path: '/v1/settings/{setting}' },

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
  createChannel: { method: 'POST', path: '/v1/images/{image}/channels' },
  deleteChannel: { method: 'DELETE', path: '/v1/images/{image}/channels/{channel}' },
  overridePromote: { method: 'POST', path: '/v1/channels/promote-override' },
  showGates: { method: 'GET', path: '/v1/gates' },
  showMoveAttestation: { method: 'GET', path: '/v1/moves/{move}/attestation' },
  signMove: { method: 'POST', path: '/v1/moves/{move}/attestation' },
  showPolicy: { method: 'GET', path: '/v1/policy' },
  listPolicies: { method: 'GET', path: '/v1/policies' },
  setPolicy: { method: 'POST', path: '/v1/policy' },
  approveVersion: { method: 'POST', path: '/v1/images/{image}/versions/{version}/approvals' },
  attachScan: { method: 'POST', path: '/v1/images/{image}/versions/{version}/scans' },
  listComposed: { method: 'GET', path: '/v1/images/{image}/versions/{version}/composed' },
  createRelease: { method: 'POST', path: '/v1/releases' },
  scheduleRelease: { method: 'POST', path: '/v1/releases/schedule' },

  readRecord: { method: 'GET', path: '/v1/images/{image}/versions/{version}/records/{record}' },
  diffVersions: { method: 'GET', path: '/v1/images/{image}/versions/{version}/diff' },
  exportVersion: { method: 'GET', path: '/v1/images/{image}/versions/{version}/disk' },
  listSignatures: { method: 'GET', path: '/v1/images/{image}/versions/{version}/signatures' },
  signVersion: { method: 'POST', path: '/v1/images/{image}/versions/{version}/signatures' },
  verifyImage: { method: 'POST', path: '/v1/images/verify' },
  uploadDisk: { method: 'POST', path: '/v1/uploads' },
  importImage: { method: 'POST', path: '/v1/images/import' },
  publishImage: { method: 'POST', path: '/v1/images/publish' },
  pushImage: { method: 'POST', path: '/v1/images/push' },
  pullImage: { method: 'POST', path: '/v1/images/pull' },

  showCatalogImage: { method: 'GET', path: '/v1/catalog/{image}' },
  listGalleries: { method: 'GET', path: '/v1/galleries' },
  addGallery: { method: 'POST', path: '/v1/galleries' },
  removeGallery: { method: 'DELETE', path: '/v1/galleries/{gallery}' },

  listWebhooks: { method: 'GET', path: '/v1/webhooks' },
  createWebhook: { method: 'POST', path: '/v1/webhooks' },
  deleteWebhook: { method: 'DELETE', path: '/v1/webhooks/{webhook}' },
  resendDeliveries: { method: 'POST', path: '/v1/webhooks/{webhook}/deliveries' },
  listDeliveries: { method: 'GET', path: '/v1/webhooks/{webhook}/deliveries' },

  showRecipe: { method: 'POST', path: '/v1/recipes/show' },
  lockRecipe: { method: 'POST', path: '/v1/recipes/lock' },
  findOutdated: { method: 'POST', path: '/v1/recipes/outdated' },
  explainRebuild: { method: 'POST', path: '/v1/recipes/why-rebuild' },

  listKeys: { method: 'GET', path: '/v1/keys' },
  createKey: { method: 'POST', path: '/v1/keys' },
  revokeKey: { method: 'POST', path: '/v1/keys/{key}/revoke' },
  trustKey: { method: 'POST', path: '/v1/keys/trust' },
  forgetKey: { method: 'DELETE', path: '/v1/keys/{key}' },

  createBuild: { method: 'POST', path: '/v1/builds' },
  createHotfix: { method: 'POST', path: '/v1/hotfixes' },
  createTest: { method: 'POST', path: '/v1/tests' },

  listAncestors: { method: 'GET', path: '/v1/images/{image}/versions/{version}/ancestors' },
  listDescendants: { method: 'GET', path: '/v1/images/{image}/versions/{version}/descendants' },
  listVersionNodes: { method: 'GET', path: '/v1/images/{image}/versions/{version}/nodes' },
  withdrawVersion: { method: 'POST', path: '/v1/images/{image}/versions/{version}/withdraw' },
  restoreVersion: { method: 'POST', path: '/v1/images/{image}/versions/{version}/restore' },
  listWithdrawals: { method: 'GET', path: '/v1/withdrawals' },
  holdVersion: { method: 'POST', path: '/v1/images/{image}/versions/{version}/hold' },
  releaseVersion: { method: 'DELETE', path: '/v1/images/{image}/versions/{version}/hold' },
  planPrune: { method: 'GET', path: '/v1/prune' },
  prune: { method: 'POST', path: '/v1/prune' },
  showLimits: { method: 'GET', path: '/v1/limits' },
  listSupport: { method: 'GET', path: '/v1/support' },
  setSupport: { method: 'POST', path: '/v1/support' },
  unsetSupport: { method: 'DELETE', path: '/v1/support/{product}/{line}' },

  listPools: { method: 'GET', path: '/v1/pools' },
  createPool: { method: 'POST', path: '/v1/pools' },
  showPool: { method: 'GET', path: '/v1/pools/{pool}' },
  deletePool: { method: 'DELETE', path: '/v1/pools/{pool}' },
  scalePool: { method: 'POST', path: '/v1/pools/{pool}/scale' },
  setPoolImage: { method: 'POST', path: '/v1/pools/{pool}/image' },
  setPoolConfig: { method: 'POST', path: '/v1/pools/{pool}/config' },

  listNodes: { method: 'GET', path: '/v1/nodes' },
  showNode: { method: 'GET', path: '/v1/nodes/{node}' },
  whichNode: { method: 'GET', path: '/v1/nodes/{node}/which' },
  readConsole: { method: 'GET', path: '/v1/nodes/{node}/console' },
  followConsole: { method: 'GET', path: '/v1/nodes/{node}/console/follow' },
  showTimeline: { method: 'GET', path: '/v1/nodes/{node}/timeline' },
  openShell: { method: 'POST', path: '/v1/nodes/{node}/shell' },
  showNodeConfig: { method: 'GET', path: '/v1/nodes/{node}/config' },
  setNodeConfig: { method: 'POST', path: '/v1/nodes/{node}/config' },
  allowNodeConfig: { method: 'POST', path: '/v1/nodes/{node}/config/allow' },

  listMachines: { method: 'GET', path: '/v1/machines' },
  showMachine: { method: 'GET', path: '/v1/machines/{machine}' },
  deleteMachine: { method: 'DELETE', path: '/v1/machines/{machine}' },

  listOperations: { method: 'GET', path: '/v1/operations' },
  showOperation: { method: 'GET', path: '/v1/operations/{operation}' },
  waitOperation: { method: 'GET', path: '/v1/operations/{operation}/wait' },
  listOperationChildren: { method: 'GET', path: '/v1/operations/{operation}/children' },
  listOperationLogs: { method: 'GET', path: '/v1/operations/{operation}/logs' },
  cancelOperation: { method: 'POST', path: '/v1/operations/{operation}/cancel' },
  retryOperation: { method: 'POST', path: '/v1/operations/{operation}/retry' },

  watchEvents: { method: 'GET', path: '/v1/events' },

  listSchedules: { method: 'GET', path: '/v1/schedules' },
  createSchedule: { method: 'POST', path: '/v1/schedules' },
  deleteSchedule: { method: 'DELETE', path: '/v1/schedules/{schedule}' },

  listTokens: { method: 'GET', path: '/v1/tokens' },
  createToken: { method: 'POST', path: '/v1/tokens' },
  revokeToken: { method: 'DELETE', path: '/v1/tokens/{token}' },
  listAudit: { method: 'GET', path: '/v1/audit' },

  listProblems: { method: 'GET', path: '/v1/problems' },
  showProblem: { method: 'GET', path: '/v1/problems/{problem}' },
  resolveProblem: { method: 'POST', path: '/v1/problems/{problem}/resolve' },
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
