// Every endpoint's handler. The types hold that none is missing.
import type { EndpointName } from '../../../api/endpoints.ts';
import type { Call, PreparedWrite, ReadHandlers, StreamHandlers, WriteHandlers } from '../call.ts';
import { accessReads, accessWrites } from './access.ts';
import { catalogueReads, catalogueWrites } from './catalogue.ts';
import { backupStream, daemonReads, daemonWrites } from './daemon.ts';
import { eventsStream } from './events.ts';
import { imageReads, imageStreams, imageWrites } from './images.ts';
import { keyReads, keyWrites } from './keys.ts';
import { lifecycleReads, lifecycleWrites } from './lifecycle.ts';
import { machineReads, machineWrites } from './machines.ts';
import { nodeAccessReads, nodeAccessStreams } from './node-access.ts';
import { nodeConfigReads, nodeConfigWrites } from './node-config.ts';
import { nodeReads, nodeWrites } from './nodes.ts';
import { operationReads, operationWrites } from './operations.ts';
import { poolReads, poolWrites } from './pools.ts';
import { promotionReads, promotionWrites } from './promotion.ts';
import { reachReads, reachWrites } from './reach.ts';
import { recipeReads, recipeWrites } from './recipes.ts';
import { scheduleReads, scheduleWrites } from './schedules.ts';
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
