// Consoles, shells and timelines of nodes, where their provider has a way to them.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import type { NodeAccess, NodeShell } from '../../../ports/provider/access.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import { requireNode } from './node.ts';

type NodeEndpoint = 'readConsole' | 'followConsole' | 'showTimeline' | 'openShell' | 'execOnNode';
type NodeCall = Pick<Call<NodeEndpoint>, 'context' | 'path'>;

const MAX_LINE = 64 * 1024;
const MACHINE_LOOK_MS = 10_000;
const EXEC_GRACE_MS = 30_000;

export const nodeAccessHandlers = {
  async readConsole(call) {
    const { access, machineId } = await findAccess(call);
    return { node: call.path.node, lines: [...(await access.console(machineId, call.query.lines))] };
  },
  async showTimeline(call) {
    const { access, machineId } = await findAccess(call);
    const timeline = await access.timeline(machineId);
    if (timeline === undefined)
      throw new ImagoError('node-not-reported', `The node ${call.path.node} has not reported yet.`);
    return { node: call.path.node, ...timeline, entries: [...timeline.entries] };
  },
  async followConsole(call) {
    const { access, machineId } = await findAccess(call);
    const giveBack = call.slots.take(call.caller.who);
    const lines = access.followConsole(machineId, call.query.lines, call.signal);
    return bytesOf(textOf(lines), giveBack);
  },
  async execOnNode(call) {
    const { access, machineId } = await findAccess(call);
    const { node } = call.path;
    const { command, timeoutSeconds } = call.body;
    const [program = ''] = command;
    const script = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    return {
      subject: `node/${node}`,
      before: { program },
      plan: async () => [`Run ${program} on ${node} as root.`],
      async run() {
        const signal = AbortSignal.timeout(timeoutSeconds * 1000 + EXEC_GRACE_MS);
        const result = await access.run(machineId, { script, timeoutMs: timeoutSeconds * 1000 }, signal);
        return { node, ...result };
      },
      record: ({ exitCode }) => ({ program, exitCode }),
    };
  },
  async openShell(call) {
    const { access, machineId } = await findAccess(call);
    const giveBack = call.slots.take(call.caller.who);
    let shell: NodeShell;
    try {
      shell = await access.openShell(machineId);
    } catch (error) {
      giveBack();
      throw error;
    }
    let ended = false;
    const end = () => {
      ended = true;
      shell.close();
      giveBack();
    };
    call.signal.addEventListener('abort', end, { once: true });
    feedShell(shell, call.upload).then(end, end);
    return bytesOf(
      untilEnd(shell.output, () => ended),
      end,
    );
  },
} satisfies Partial<Handlers>;

async function findAccess({
  context,
  path,
}: NodeCall): Promise<{ readonly access: NodeAccess; readonly machineId: string }> {
  const kept = await findMachine(context.providers, path.node);
  if (kept !== undefined) return kept;
  const record = await requireNode(context.fleet, path.node);
  const { provider } = await requirePool(context, record.pool);
  const access = context.providers.get(provider)?.access;
  if (access !== undefined) return { access, machineId: record.machineId };
  throw new ImagoError('provider-lacks', `The provider ${provider} has no way into its machines.`);
}

/** Machines of no pool, e.g. those that a failed test left for a look. */
async function findMachine(
  providers: NodeCall['context']['providers'],
  name: string,
): Promise<{ readonly access: NodeAccess; readonly machineId: string } | undefined> {
  for (const { access, machines } of providers.values()) {
    if (access === undefined || machines === undefined) continue;
    const options = { signal: AbortSignal.timeout(MACHINE_LOOK_MS), epoch: 0 };
    const machine = await machines.getMachine(name, options);
    if (machine !== undefined) return { access, machineId: machine.machineId };
  }
  return undefined;
}

/** Reads what the caller types, a JSON document a line, until the caller ends it or sends something else. */
async function feedShell(shell: NodeShell, upload: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of upload) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) return;
    for (const line of lines) if (!(await takeLine(shell, line))) return;
  }
}

async function takeLine(shell: NodeShell, line: string): Promise<boolean> {
  const { input, rows, columns } = parseLine(line);
  if (typeof input === 'string') {
    shell.write(Buffer.from(input, 'base64'));
    return true;
  }
  if (!isSize(rows) || !isSize(columns)) return false;
  await shell.resize({ rows, columns });
  return true;
}

function parseLine(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 10_000;
}

/** Output that breaks because the session was closed has simply ended. */
async function* untilEnd(
  output: AsyncIterable<Uint8Array>,
  ended: () => boolean,
): AsyncGenerator<Uint8Array> {
  try {
    yield* output;
  } catch (error) {
    if (!ended()) throw error;
  }
}

async function* textOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(`${line}\n`);
}

function bytesOf(content: AsyncIterable<Uint8Array>, end: () => void): Response {
  const iterator = content[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done !== true) return controller.enqueue(value);
        controller.close();
        end();
      },
      async cancel() {
        end();
        await iterator.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, {
    headers: {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
