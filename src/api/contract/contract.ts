// The contract of the API: the input, output, and role of each endpoint. Routes implement it, the client is typed by
// it, and OpenAPI is generated from it.
import * as z from 'zod';
import { accessContract } from './access.ts';
import { agentContract } from './agent.ts';
import { changeContract } from './change.ts';
import { channelContract } from './channel.ts';
import { clusterContract } from './cluster.ts';
import { daemonContract } from './daemon.ts';
import { galleryContract, webhookContract } from './distribution.ts';
import type { EndpointContract } from './endpoint.ts';
import { nodeContract, poolContract } from './fleet.ts';
import { imageContract } from './image.ts';
import { lifecycleContract } from './lifecycle.ts';
import { eventContract, operationContract } from './operation.ts';
import { operationRoutes } from './operation-routes.ts';
import { problemContract } from './problem.ts';
import { recipeContract } from './recipe.ts';
import { scheduleContract } from './schedule.ts';
import { keyContract } from './signing-key.ts';
import { simContract } from './sim.ts';

export const contract = {
  ...daemonContract,
  ...problemContract,
  ...recipeContract,
  ...imageContract,
  ...lifecycleContract,
  ...channelContract,
  ...galleryContract,
  ...webhookContract,
  ...keyContract,
  ...poolContract,
  ...nodeContract,
  ...agentContract,
  ...clusterContract,
  ...operationContract,
  ...changeContract,
  ...eventContract,
  ...scheduleContract,
  ...accessContract,
  ...simContract,
  ...operationRoutes,
} satisfies Record<string, EndpointContract>;

export type Contract = typeof contract;
export type EndpointName = keyof Contract;

export const endpointNames = Object.keys(contract) as readonly EndpointName[];

/** Returns the contract of an endpoint in its general form, for code that handles all endpoints alike. */
export function contractOf(name: EndpointName): EndpointContract {
  return contract[name];
}

export function isWrite(endpoint: EndpointContract): boolean {
  return endpoint.effect === 'write' || endpoint.effect === 'operation';
}

const dryRun = z
  .enum(['true', 'false'])
  .default('false')
  .describe('Respond with a preview of the changes, and write nothing.');
const whenBusy = z
  .enum(['wait', 'refuse'])
  .default('wait')
  .describe('Whether to queue or to fail if another operation uses the same resource.');

const noQuery = z.strictObject({});
const writeQuery = z.strictObject({ dryRun });
const operationQuery = z.strictObject({ dryRun, whenBusy });

/** Returns the query of an endpoint, including the parameters of all writes. */
export function queryOf(endpoint: EndpointContract): z.ZodObject {
  const own = endpoint.query ?? noQuery;
  if (!isWrite(endpoint)) return own;
  const shared = endpoint.effect === 'write' ? writeQuery : operationQuery;
  return z.strictObject({ ...own.shape, ...shared.shape });
}
