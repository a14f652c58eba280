// The handler of every endpoint. A missing one is a type error; the contract says of which kind each is.
import { contractOf, type EndpointName, isWrite } from '../../../api/contract/contract.ts';
import type { Call, Handlers, PreparedWrite } from '../endpoint/call.ts';
import { routeHandlers } from '../endpoint/start-operation.ts';
import { accessHandlers } from './access.ts';
import { agentHandlers } from './agent.ts';
import { captureHandlers } from './capture.ts';
import { catalogHandlers } from './catalog.ts';
import { changeHandlers } from './change.ts';
import { clusterHandlers } from './cluster.ts';
import { daemonHandlers } from './daemon.ts';
import { distributionHandlers } from './distribution.ts';
import { eventHandlers } from './event.ts';
import { imageHandlers } from './image.ts';
import { lifecycleHandlers } from './lifecycle.ts';
import { machineHandlers } from './machine.ts';
import { nodeHandlers } from './node.ts';
import { nodeAccessHandlers } from './node-access.ts';
import { nodeConfigHandlers } from './node-config.ts';
import { operationHandlers } from './operation.ts';
import { poolHandlers } from './pool.ts';
import { problemHandlers } from './problem.ts';
import { promotionHandlers } from './promotion.ts';
import { recipeHandlers } from './recipe.ts';
import { rolloutHandlers } from './rollout.ts';
import { scheduleHandlers } from './schedule.ts';
import { keyHandlers } from './signing-key.ts';
import { simHandlers } from './sim.ts';

const handlers: Handlers = {
  ...routeHandlers,
  ...accessHandlers,
  ...agentHandlers,
  ...captureHandlers,
  ...catalogHandlers,
  ...changeHandlers,
  ...clusterHandlers,
  ...daemonHandlers,
  ...distributionHandlers,
  ...eventHandlers,
  ...imageHandlers,
  ...lifecycleHandlers,
  ...machineHandlers,
  ...nodeHandlers,
  ...nodeAccessHandlers,
  ...nodeConfigHandlers,
  ...operationHandlers,
  ...poolHandlers,
  ...problemHandlers,
  ...promotionHandlers,
  ...recipeHandlers,
  ...rolloutHandlers,
  ...scheduleHandlers,
  ...keyHandlers,
  ...simHandlers,
};

type Handle<Result> = (call: Call<EndpointName>) => Promise<Result>;

export type GeneralHandler =
  | { readonly kind: 'read'; readonly handle: Handle<unknown> }
  | { readonly kind: 'write'; readonly handle: Handle<PreparedWrite<unknown>> }
  | { readonly kind: 'stream'; readonly handle: Handle<Response> };

/** Returns the handler for code that handles all endpoints alike; the contract checked what it is called with. */
export function generalHandler(name: EndpointName): GeneralHandler {
  const endpoint = contractOf(name);
  const kind = isWrite(endpoint) ? 'write' : endpoint.stream === undefined ? 'read' : 'stream';
  return { kind, handle: handlers[name] } as GeneralHandler;
}
