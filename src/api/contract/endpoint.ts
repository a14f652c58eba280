// Declares one endpoint of the API. Routes, the types of the client, the client's addresses, and the OpenAPI document
// derive from it.
import * as z from 'zod';
import type { Role } from '../../domain/access/roles.ts';
import type { RouteCommand } from '../../domain/operation/declaration.ts';
import { name } from '../../domain/value/fields.ts';

/** Groups of endpoints. */
export const tags = {
  Daemon: 'The daemon: its status, its settings, and its data.',
  Recipes: 'Recipes, before anything is built.',
  Images: 'Named lines of immutable versions: how they are built, tested, and copied.',
  Channels: 'Names that point to versions, and all their moves.',
  Galleries: 'A registered gallery.',
  Webhooks: 'Notifications about events.',
  Pools: 'Nodes that share one model.',
  Clusters: 'Kubernetes clusters that pools belong to.',
  Nodes: 'Machines of pools, and the versions they were created from.',
  Operations: 'Durable runs of named steps.',
  Events: 'Events as they happen.',
  Schedules: 'Operations that start on a schedule.',
  Keys: 'Keys that versions are signed with.',
  Access: 'Tokens, and the audit log.',
  Simulation: 'Control of the simulated provider.',
} as const;
export type Tag = keyof typeof tags;

/**
 * `read` changes nothing, and neither does `query`, which is a read with a body. `write` is done when the response
 * arrives. `operation` starts one, and responds with its record. Both kinds of writes are audited and accept `dryRun`
 * and an idempotency key.
 */
export type Effect = 'read' | 'query' | 'write' | 'operation';

/** Method and path. Parameters are in braces, as in OpenAPI. */
export type Address = `${'GET' | 'POST' | 'DELETE'} /v1/${string}`;

interface Options {
  readonly description?: string;
  /** Absent if the command line has a command of its own. */
  readonly command?: RouteCommand;
  /** The minimum role. */
  readonly role: Role;
  /** Schemas of path parameters that are not plain names. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A missing body is read as an empty object. */
  readonly bodyOptional?: true;
  readonly status?: 200 | 201 | 202;
  /** The body of a success. For streams: what one event holds, or what follows the upload. */
  readonly response: z.ZodType;
  /** Not one JSON document: server-sent events, bytes out, bytes in, or both directions concurrently. */
  readonly stream?: 'events' | 'download' | 'upload' | 'duplex';
  /** The response contains a secret, so it is not stored for repeated requests. */
  readonly secret?: true;
  /** Takes a passphrase in the header `Imago-Passphrase`, as base64. */
  readonly passphrase?: true;
  /** A read that is audited like a write, because it returns everything. */
  readonly audited?: true;
}

export interface EndpointContract extends Omit<Options, 'params'> {
  readonly tag: Tag;
  readonly summary: string;
  readonly effect: Effect;
  readonly method: string;
  /** The path, with parameters in braces. */
  readonly url: string;
  readonly path?: z.ZodObject;
  readonly status: 200 | 201 | 202;
}

/** The exact types of one endpoint; the rest is as in all. */
type Declared<E extends Effect, A extends Address, O> = Omit<EndpointContract, keyof O | 'effect' | 'tag'> &
  O & { readonly effect: E; readonly address: A };

type ReadOptions = Partial<Options> & (Pick<Options, 'response'> | { readonly stream: 'download' });

/** Reads with GET. Defaults to the role `viewer`. */
export function read<const A extends Address, const O extends ReadOptions>(
  a: A,
  summary: string,
  options: O,
) {
  return declare('read', a, summary, options);
}

/** Reads with a body. */
export function query<const A extends Address, const O extends Pick<Options, 'role'> & Partial<Options>>(
  address: A,
  summary: string,
  options: O,
) {
  return declare('query', address, summary, options);
}

export function write<const A extends Address, const O extends Options>(a: A, summary: string, options: O) {
  return declare('write', a, summary, options);
}

/** A write that responds with 201. */
export function create<const A extends Address, const O extends Options>(a: A, summary: string, options: O) {
  return { ...declare('write', a, summary, options), status: 201 } as const;
}

/** The shared part of all endpoints. */
export function declare<E extends Effect, A extends Address, O extends Partial<Options>>(
  effect: E,
  address: A,
  summary: string,
  options: O,
) {
  const [method = '', url = ''] = address.split(' ');
  const parameters = [...url.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  const shape = Object.fromEntries(parameters.map((one) => [one, options.params?.[one] ?? name]));
  const declared: object = {
    role: 'viewer',
    response: z.unknown(),
    status: effect === 'operation' ? 202 : 200,
    ...options,
    ...{ effect, address, method, url, summary },
    ...(parameters.length === 0 ? {} : { path: z.strictObject(shape) }),
  };
  return declared as Declared<E, A, O>;
}

/** Gives every endpoint of a group its tag. */
export function endpoints<const T extends Readonly<Record<string, object>>>(tag: Tag, group: T) {
  const tagged = Object.entries(group).map(([key, endpoint]) => [key, { ...endpoint, tag }]);
  return Object.fromEntries(tagged) as { readonly [K in keyof T]: T[K] & { readonly tag: Tag } };
}
