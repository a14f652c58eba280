// What is said of one endpoint. The routes, the client's types and the OpenAPI document are all made from it.
import type * as z from 'zod';
import type { Role } from '../../domain/access/roles.ts';

/** What endpoints are grouped by. */
export const tags = {
  Daemon: 'The daemon itself: how it is, stopping it, carrying its data elsewhere.',
  Recipes: 'What is on a node, before anything is built.',
  Images: 'Named lines of immutable versions, how they are made and tested.',
  Channels: 'Names that point at versions, and every move they made.',
  Galleries: 'Where versions are copied to.',
  Webhooks: 'Telling others of what happens.',
  Pools: 'Nodes made from one model.',
  Nodes: 'Machines of pools, and what each was made from.',
  Operations: 'Durable runs of named steps.',
  Events: 'What happens, as it happens.',
  Schedules: 'Operations that start by the clock.',
  Keys: 'What versions are signed with.',
  Access: 'Tokens, and the record of who wrote what.',
  Simulation: 'Steering of the simulated provider.',
} as const;
export type Tag = keyof typeof tags;

/**
 * `read` changes nothing, and neither does `query`, which has its question in a body. `write` is done when it is
 * answered. `operation` starts one, and is answered with its record. Writes of both kinds are audited and take `dryRun`
 * and an idempotency key.
 */
export type Effect = 'read' | 'query' | 'write' | 'operation';

export interface EndpointContract {
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The smallest role that may call it. */
  readonly role: Role;
  readonly effect: Effect;
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body may be left out; then it is read as an empty object. */
  readonly bodyOptional?: true;
  readonly status: 200 | 201 | 202;
  /** What a success answers with. For streams: what one event holds, or what comes after the upload. */
  readonly response: z.ZodType;
  /** Not one JSON document: server-sent events, bytes out, bytes in, or both ways at once. */
  readonly stream?: 'events' | 'download' | 'upload' | 'duplex';
  /** The answer holds a secret: it is not kept for repeated requests. */
  readonly secret?: true;
  /** Takes a passphrase in the header `Imago-Passphrase`, as base64. */
  readonly passphrase?: true;
  /** A read that is audited like a write, because it hands out everything. */
  readonly audited?: true;
}

/** Checks the shape and keeps the exact types. */
export function endpoint<const T extends EndpointContract>(contract: T): T {
  return contract;
}
