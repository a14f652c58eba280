// Every endpoint's handler. The types hold that none is missing.
import type { EndpointName } from '../../../api/contract/endpoints.ts';
import type { Call, PreparedWrite, ReadHandlers, StreamHandlers, WriteHandlers } from '../endpoint/call.ts';
import { accessReads, accessWrites } from './access.ts';
import { catalogueReads, catalogueWrites } from './catalog.ts';
import { backupStream, daemonReads, daemonWrites } from './daemon.ts';
import { reachReads, reachWrites } from './distribution.ts';
import { eventsStream } from './event.ts';
import { imageReads, imageStreams, imageWrites } from './image.ts';
import { lifecycleReads, lifecycleWrites } from './lifecycle.ts';
import { machineReads, machineWrites } from './machine.ts';
import { nodeReads, nodeWrites } from './node.ts';
import { nodeAccessReads, nodeAccessStreams } from './node-access.ts';
import { nodeConfigReads, nodeConfigWrites } from './node-config.ts';
import { operationReads, operationWrites } from './operation.ts';
import { poolReads, poolWrites } from './pool.ts';
import { problemReads, problemWrites } from './problem.ts';
import { promotionReads, promotionWrites } from './promotion.ts';
import { recipeReads, recipeWrites } from './recipe.ts';
import { scheduleReads, scheduleWrites } from './schedule.ts';
import { keyReads, keyWrites } from './signing-key.ts';
import { simReads, simWrites } from './sim.ts';

const reads: ReadHandlers = {
  ...daemonReads,
  ...recipeReads,
  ...catalogueReads,
  ...promotionReads,
  ...imageReads,
  ...lifecycleReads,
  ...reachReads,
  ...keyReads,
  ...poolReads,
  ...nodeReads,
  ...nodeConfigReads,
  ...machineReads,
  ...nodeAccessReads,
  ...operationReads,
  ...problemReads,
  ...scheduleReads,
  ...accessReads,
  ...simReads,
};

const writes: WriteHandlers = {
  ...daemonWrites,
  ...recipeWrites,
  ...catalogueWrites,
  ...promotionWrites,
  ...imageWrites,
  ...lifecycleWrites,
  ...reachWrites,
  ...keyWrites,
  ...poolWrites,
  ...nodeWrites,
  ...nodeConfigWrites,
  ...machineWrites,
  ...operationWrites,
  ...problemWrites,
  ...scheduleWrites,
  ...accessWrites,
  ...simWrites,
};

const streams: StreamHandlers = {
  watchEvents: eventsStream,
  backup: backupStream,
  ...imageStreams,
  ...nodeAccessStreams,
};

type Handle<Result> = (call: Call<EndpointName>) => Promise<Result>;

export type GeneralHandler =
  | { readonly kind: 'read'; readonly handle: Handle<unknown> }
  | { readonly kind: 'write'; readonly handle: Handle<PreparedWrite<unknown>> }
  | { readonly kind: 'stream'; readonly handle: Handle<Response> };

/** The endpoint's handler for code that treats all endpoints alike; the contract checked what it is called with. */
export function generalHandler(name: EndpointName): GeneralHandler {
  if (isIn(reads, name)) return { kind: 'read', handle: reads[name] as Handle<unknown> };
  if (isIn(writes, name)) {
    return { kind: 'write', handle: writes[name] as unknown as Handle<PreparedWrite<unknown>> };
  }
  return { kind: 'stream', handle: streams[name] as Handle<Response> };
}

function isIn<T extends object>(handlers: T, name: EndpointName): name is EndpointName & keyof T {
  return Object.hasOwn(handlers, name);
}
