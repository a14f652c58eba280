// The contract of the API: what each endpoint takes, gives and demands. Routes implement it, the client is
// typed by it, OpenAPI is generated from it.
import * as z from 'zod';
import { accessContract } from './access.ts';
import { catalogueContract } from './catalog.ts';
import { daemonContract } from './daemon.ts';
import { reachContract } from './distribution.ts';
import type { EndpointContract } from './endpoint.ts';
import type { EndpointName } from './endpoints.ts';
import { fleetContract } from './fleet.ts';
import { imagesContract } from './image.ts';
import { lifecycleContract } from './lifecycle.ts';
import { machinesContract } from './machine.ts';
import { nodeAccessContract } from './node-access.ts';
import { operationsContract } from './operation.ts';
import { problemContract } from './problem.ts';
import { promotionContract } from './promotion.ts';
import { recipesContract } from './recipe.ts';
import { schedulesContract } from './schedule.ts';
import { keysContract } from './signing-key.ts';
import { simContract } from './sim.ts';

export const contract = {
  ...daemonContract,
  ...problemContract,
  ...recipesContract,
  ...catalogueContract,
  ...promotionContract,
  ...imagesContract,
  ...lifecycleContract,
  ...reachContract,
  ...keysContract,
  ...fleetContract,
  ...machinesContract,
  ...nodeAccessContract,
  ...operationsContract,
  ...schedulesContract,
  ...accessContract,
  ...simContract,
} satisfies Record<EndpointName, EndpointContract>;

export type Contract = typeof contract;

/** The endpoint's contract in its general form, for code that treats all endpoints alike. */
export function contractOf(name: EndpointName): EndpointContract {
  return contract[name];
}

export function isWrite(endpoint: EndpointContract): boolean {
  return endpoint.effect === 'write' || endpoint.effect === 'operation';
}

const dryRun = z
  .enum(['true', 'false'])
  .default('false')
  .describe('Answer with what would be done, and write nothing.');
const whenBusy = z
  .enum(['wait', 'refuse'])
  .default('wait')
  .describe('What to do when another operation holds the same subject.');

const noQuery = z.strictObject({});
const writeQuery = z.strictObject({ dryRun });
const operationQuery = z.strictObject({ dryRun, whenBusy });

/** The endpoint's own query, with what all writes take. */
export function queryOf(endpoint: EndpointContract): z.ZodObject {
  const own = endpoint.query ?? noQuery;
  if (!isWrite(endpoint)) return own;
  const shared = endpoint.effect === 'write' ? writeQuery : operationQuery;
  return z.strictObject({ ...own.shape, ...shared.shape });
}
