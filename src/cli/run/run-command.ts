// Runs the commands that call one endpoint: collects the fields of the request from arguments and flags, previews or
// confirms, calls, and prints.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestOptions } from '../../api/client/client.ts';
import { addresses } from '../../api/contract/addresses.generated.ts';
import type {
  EndpointName,
  ItemOf,
  ListEndpoint,
  PlainEndpoint,
  ResponseOf,
  WriteEndpoint,
} from '../../api/contract/types.ts';
import type { Plan } from '../../api/schemas/common.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ListPage } from '../output/output.ts';
import { formatCell, keyValueLines } from '../output/table.ts';
import type { Call, Column, ListSpec, OperationSpec, Request, ShowSpec, WriteSpec } from '../spec/call.ts';
import { type CommandTexts, type Fields, type Invocation, isSet } from '../spec/command.ts';
import { confirm } from './confirm.ts';
import { followOperation } from './follow-operation.ts';

type Operation = ResponseOf<'showOperation'>;

/** The client without the types of single endpoints: builders connect them, and the daemon validates every request. */
interface UntypedClient {
  call(endpoint: EndpointName, input: object, options?: RequestOptions): Promise<unknown>;
  items(endpoint: EndpointName, input: object, options?: RequestOptions): AsyncGenerator<object>;
  plan(endpoint: EndpointName, input: object): Promise<Plan>;
}

export async function runList<N extends ListEndpoint>(
  invocation: Invocation,
  endpoint: N,
  spec: ListSpec<N>,
): Promise<void> {
  type Item = ItemOf<N> & object;
  const request = await requestOf(invocation, endpoint, spec);
  const client: UntypedClient = await invocation.client();
  const { out, signal, flags } = invocation;
  const isPaged = spec.flags !== undefined && 'limit' in spec.flags;
  const isWhole = isPaged && flags.limit === undefined && flags.cursor === undefined;
  const isWatched = isSet(invocation, 'watch');
  const read = async (): Promise<ListPage<Item>> => {
    if (!isWhole || !(out.piped || isWatched))
      return (await client.call(endpoint, request, { signal })) as ListPage<Item>;
    return { items: (await Array.fromAsync(client.items(endpoint, request, { signal }))) as Item[] };
  };
  const first = await read();
  const name = spec.name ?? nameOf;
  const columns = out.format === 'wide' ? wideColumns(spec.columns, first.items) : spec.columns;
  out.list(first, name, tableColumns<Item>(columns));
  if (isWatched)
    await watchList(
      first.items,
      read,
      (items) => out.changed(items, name, tableColumns<Item>(columns)),
      signal,
    );
}

const watchMs = 2000;

/** Prints items that are new or differ from when they were printed, until the signal. */
async function watchList<T extends object>(
  first: readonly T[],
  read: () => Promise<ListPage<T>>,
  print: (items: readonly T[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let known = new Set(first.map((item) => JSON.stringify(item)));
  for (;;) {
    await sleep(watchMs, undefined, { signal }).catch(() => undefined);
    // Ctrl-C is how a watch ends.
    if (signal.reason instanceof ImagoError && signal.reason.code === 'cancelled') return;
    signal.throwIfAborted();
    const { items } = await read();
    // Lists are newest first, and what happened last is printed last.
    print(items.filter((item) => !known.has(JSON.stringify(item))).toReversed());
    known = new Set(items.map((item) => JSON.stringify(item)));
  }
}

/** Adds the plain fields that the table does not show, and shows those in full that it shortens. */
function wideColumns<T extends object>(
  columns: readonly Column<T>[],
  items: readonly T[],
): readonly Column<T>[] {
  const shown = new Set(
    columns.flatMap((column) => (typeof column === 'string' ? [column] : [String(column[1])])),
  );
  const plain = items.flatMap((item) =>
    Object.keys(item).filter((key) => typeof item[key as keyof T] !== 'object'),
  );
  const more = [...new Set(plain)].filter((key) => !shown.has(key));
  return [...columns, ...(more as (keyof T & string)[])];
}

export async function runShow<N extends PlainEndpoint>(
  invocation: Invocation,
  endpoint: N,
  { name = nameOf, check, value, lines, ...spec }: Call<ShowSpec<N>>,
): Promise<void> {
  const { answer: found, request } = await call(invocation, endpoint, spec);
  const answer = found as ResponseOf<N> & object;
  check?.(answer, invocation);
  const context = { ...invocation, request };
  invocation.out.thing(
    value?.(answer) ?? answer,
    name(answer),
    () => lines?.(answer, context) ?? keyValueLines(answer as Fields),
  );
}

export async function runWrite<N extends WriteEndpoint>(
  invocation: Invocation,
  endpoint: N,
  { irreversible, name = nameOf, value, done, ...spec }: Call<WriteSpec<N>>,
): Promise<void> {
  const request = await requestOf(invocation, endpoint, spec);
  if (!(await proceeds(invocation, endpoint, request, irreversible))) return;
  const client: UntypedClient = await invocation.client();
  const answer = (await client.call(endpoint, request)) as ResponseOf<N> & object;
  const context = { ...invocation, request };
  invocation.out.thing(value?.(answer, context) ?? answer, name(answer, context), () =>
    [done(answer, context)].flat(),
  );
}

export async function runOperation(
  invocation: Invocation,
  endpoint: WriteEndpoint,
  { irreversible, name = nameOf, done, ...spec }: Call<OperationSpec>,
): Promise<void> {
  const request = await requestOf(invocation, endpoint, spec);
  const asks = typeof irreversible === 'function' ? await irreversible(invocation) : irreversible;
  if (!(await proceeds(invocation, endpoint, request, asks))) return;
  const ended = await startAndFollow(invocation, endpoint, request);
  if (ended === undefined) return;
  const result = (ended.result ?? {}) as Fields;
  if (typeof result.warning === 'string') invocation.out.note(`warning: ${result.warning}`);
  invocation.out.thing({ ...result, operation: ended.id }, name(result), () =>
    [done(result, { ...invocation, request })].flat(),
  );
}

/** Prints the plan of a dry run, or asks for confirmation. Returns whether to make the change. */
export async function proceeds(
  invocation: Invocation,
  endpoint: WriteEndpoint,
  input: Request,
  irreversible = false,
): Promise<boolean> {
  const isPreview = isSet(invocation, 'dry-run');
  if (!isPreview && (!irreversible || isSet(invocation, 'yes'))) return true;
  const client: UntypedClient = await invocation.client();
  const plan = await client.plan(endpoint, input);
  if (isPreview) printPlan(invocation, plan, plan.subject);
  else await confirm(invocation, plan.plan);
  return !isPreview;
}

export function printPlan(
  { out }: Invocation,
  plan: { readonly dryRun: true; readonly subject?: string; readonly plan: readonly string[] },
  name: string,
): void {
  out.thing(plan, name, () => [
    'Dry run. These changes would be made:',
    ...plan.plan.map((line) => `  ${line}`),
  ]);
}

/** Starts the operation and follows it until it finishes. With --no-wait, prints it and returns `undefined`. */
export async function startAndFollow(
  invocation: Invocation,
  endpoint: WriteEndpoint,
  input: Request,
): Promise<Operation | undefined> {
  const started = await start(invocation, endpoint, input);
  return started && followOperation(invocation, await invocation.client(), started.id, started);
}

/** Starts the operation. With --no-wait, prints it and returns `undefined`. */
export async function start(
  invocation: Invocation,
  endpoint: WriteEndpoint,
  input: Request,
): Promise<Operation | undefined> {
  const client: UntypedClient = await invocation.client();
  const busy = isSet(invocation, 'refuse-if-busy') ? { whenBusy: 'refuse' } : {};
  const started = (await client.call(endpoint, { ...input, ...busy })) as Operation;
  if (!isSet(invocation, 'no-wait')) return started;
  invocation.out.thing(started, started.id, () => [
    `Started ${started.kind} ${started.id}. Watch it with \`imago op watch ${started.id}\`.`,
  ]);
  return undefined;
}

async function call(invocation: Invocation, endpoint: EndpointName, spec: Source) {
  const request = await requestOf(invocation, endpoint, spec);
  const client: UntypedClient = await invocation.client();
  return { request, answer: await client.call(endpoint, request, { signal: invocation.signal }) };
}

interface Source extends Pick<CommandTexts, 'args' | 'flags'> {
  readonly more?: (invocation: Invocation) => Fields | Promise<Fields>;
}

/** A field of the path goes there, every other one into the body, or into the query of GET and DELETE. */
export async function requestOf(
  invocation: Invocation,
  endpoint: EndpointName,
  spec: Source,
): Promise<Request> {
  const fields = { ...(await fieldsOf(invocation, spec)), ...(await spec.more?.(invocation)) };
  const [method, url = ''] = addresses[endpoint].split(' ');
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  const [path, rest] = [true, false].map((inPath) =>
    Object.fromEntries(present.filter(([field]) => url.includes(`{${field}}`) === inPath)),
  );
  const isEmpty = Object.keys(rest ?? {}).length === 0;
  return { ...(path && { path }), ...(!isEmpty && { [method === 'POST' ? 'body' : 'query']: rest }) };
}

async function fieldsOf(invocation: Invocation, { args = [], flags = {} }: Source): Promise<Fields> {
  const fields: Record<string, unknown> = {};
  for (const { name, field, expand } of args) {
    const word = invocation.args[name];
    if (word === undefined || field === false) continue;
    Object.assign(fields, (await expand?.(word, invocation)) ?? { [field ?? name.toLowerCase()]: word });
  }
  for (const [name, { field, read }] of Object.entries(flags)) {
    const value = invocation.flags[name];
    if (value === undefined || field === false) continue;
    const convert = (word: string) => (read === undefined ? word : read(word, name));
    fields[field ?? camelCase(name)] = Array.isArray(value)
      ? value.map(convert)
      : typeof value === 'string'
        ? convert(value)
        : value;
  }
  return fields;
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the name by which a thing is referred to: its own, its version's, or its id. */
function nameOf(thing: unknown): string {
  const { name, image, version, id } = thing as Fields;
  if (name !== undefined) return String(name);
  return image === undefined || version === undefined ? String(id ?? '') : `${image}:${version}`;
}

export function tableColumns<T>(columns: readonly Column<T>[]) {
  const entries = columns.map((column) => {
    const [header, cell] = typeof column === 'string' ? ([column, column] as const) : column;
    return [
      header,
      typeof cell === 'function' ? cell : (item: T) => formatCell(item[cell as keyof T]),
    ] as const;
  });
  return Object.fromEntries(entries);
}
