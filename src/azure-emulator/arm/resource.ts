// What every kind of resource does the same way: find, list in pages, start work, and answer.
import { ArmError, resourceNotFound } from './arm-error.ts';
import { type Document, shown } from './documents.ts';
import type { Call } from './face.ts';
import { isObject, type Json, textAt } from './json.ts';
import type { OperationState, PollPath, Reply } from './operations.ts';
import { regionNames } from './regions.ts';
import { ownerOf, ownName } from './resource-id.ts';

const pageSize = 100;

export function requireDocument(
  { face, address }: Pick<Call, 'face' | 'address'>,
  id: string = address.id,
): Document {
  const found = face.documents.get(id);
  if (found !== undefined) return found;
  throw resourceNotFound({ ...address, id });
}

/** Refuses a child whose parent does not exist. */
export function requireParent(call: Call): Document {
  const parent = call.address.id.split('/').slice(0, -2).join('/');
  const found = call.face.documents.get(parent);
  if (found !== undefined) return found;
  throw new ArmError(
    404,
    'ParentResourceNotFound',
    `Failed to perform 'write' on resource(s) of type 'Microsoft.Compute/${call.address.type}', because the parent resource '${parent}' could not be found.`,
  );
}

/** Returns the location that a body names, as Azure writes it. */
export function readLocation(body: Json, known?: Document): string {
  const given = textAt(body, 'location') ?? known?.location;
  if (given === undefined) {
    throw new ArmError(400, 'LocationRequired', 'The location property is required for this definition.');
  }
  const location = toRegion(given);
  if (!regionNames.has(location)) {
    throw new ArmError(
      400,
      'LocationNotAvailableForResourceType',
      `The provided location '${given}' is not available for resource type 'Microsoft.Compute'.`,
    );
  }
  if (known === undefined || known.location === location) return location;
  throw new ArmError(
    409,
    'InvalidResourceLocation',
    `The resource '${known.name}' already exists in location '${known.location}' in resource group '${known.group}'. A resource with the same name cannot be created in location '${location}'. Please select a new resource name.`,
  );
}

/** `East US 2` and `eastus2` are the same region. */
export function toRegion(name: string): string {
  return name.toLowerCase().replaceAll(' ', '');
}

/** Top-level fields that are echoed; tags as they are, even empty. */
export function topFields(body: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    ['tags', ...names].flatMap((name) => (isObject(body[name]) ? [[name, body[name]]] : [])),
  );
}

/** Returns one page, in the order given. The token is the name after which the next page starts. */
export function page(call: Call, items: readonly Json[]): Reply {
  const token = call.query.get('$skiptoken');
  const after = token === null ? -1 : items.findIndex((item) => item.name === token);
  const value = items.slice(after + 1, after + 1 + pageSize);
  if (after + 1 + value.length >= items.length) return { status: 200, body: { value } };
  const next = new URL(`${call.origin}${call.address.id}`);
  for (const [name, text] of call.query) next.searchParams.set(name, text);
  next.searchParams.set('$skiptoken', String(value.at(-1)?.name));
  return { status: 200, body: { value, nextLink: next.href } };
}

export interface Work {
  readonly poll: PollPath;
  readonly location: string;
  readonly monitored: boolean;
  readonly state: () => Promise<OperationState>;
}

/** Answers a call that started work. */
export function accepted(call: Call, status: number, work: Work, body?: Json): Reply {
  const resource = call.method === 'POST' ? ownerOf(call.address).id : call.address.id;
  const { subscription } = call.address;
  const headers = call.face.operations.start(work, { ...call, subscription, resource });
  return { status, headers, ...(body === undefined ? {} : { body }) };
}

/** Work whose end is known when it starts. */
export function timed({ face }: Call, until: number, output?: () => Json): () => Promise<OperationState> {
  return async () => {
    if (face.clock.now() < until) return { status: 'InProgress' };
    return { status: 'Succeeded', endedAt: until, ...(output === undefined ? {} : { output: output() }) };
  };
}

/** Refuses to delete what still contains something. */
export function requireEmpty({ face, address }: Call, inside: string): void {
  const [nested] = face.documents.inside(`${address.id}/${inside}`);
  if (nested === undefined) return;
  throw new ArmError(
    409,
    'CannotDeleteResource',
    `Can not delete resource before nested resources are deleted. Nested resource: '${nested.id}'.`,
  );
}

/** Deletes a document after some time, and answers as Azure does; something that is not there is gone already. */
export function deleteLater(call: Call, poll: PollPath, ms: number): Reply {
  const found = call.face.documents.get(call.address.id);
  if (found === undefined) return { status: 204 };
  const until = call.face.clock.now() + ms;
  call.face.documents.set({ ...found, work: { state: 'Deleting', until } });
  return accepted(call, 202, { poll, location: found.location, monitored: true, state: timed(call, until) });
}

export async function getDocument(call: Call): Promise<Reply> {
  return { status: 200, body: shown(requireDocument(call)) };
}

/** Lists below a resource group, or in the whole subscription. */
export function documentsFor(call: Call, type: string): readonly Document[] {
  const { address, face } = call;
  if (address.group === '') return face.documents.ofType(type);
  return face.documents.inside(address.id);
}

/** The same; below `locations/NAME`, those of a region. */
export function documentsAt(call: Call, type: string): readonly Document[] {
  const { address, face } = call;
  if (!address.type.startsWith('locations/')) return documentsFor(call, type);
  const region = toRegion(address.names[0] ?? '');
  return face.documents.ofType(type).filter(({ location }) => location === region);
}

export function documentOf(call: Call, type: string, location: string, body: Json): Document {
  const { id, group } = call.address;
  return { id, group, type, name: ownName(call.address), location, body };
}
