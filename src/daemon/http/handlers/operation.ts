// Operations.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { roleOfKind } from '../../../domain/operation-kinds.ts';
import type { OperationRecord } from '../../../ports/workflow/operation.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { operationFor } from '../endpoint/operation-for.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { operationTrail } from '../endpoint/start-operation.ts';
import { personOf, requireRole } from '../guard/caller.ts';

const endedStates: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

export const operationHandlers = {
  async listOperations({ context, caller, query }) {
    const { state, kind, subject, parent } = query;
    const filter = {
      ...(state === undefined ? {} : { state }),
      ...(kind === undefined ? {} : { kind }),
      ...(subject === undefined ? {} : { subject }),
      ...(parent === undefined ? {} : { parent }),
    };
    const { items, ...page } = await context.operationLists.list(filter, pageQuery(query));
    return { ...page, items: items.map((one) => operationFor(caller, one)) };
  },
  async showOperation({ context, caller, path }) {
    const operation = await requireOperation(context, path.operation);
    const waitsFor = await waitOf(context, operation);
    return { ...operationFor(caller, operation), ...(waitsFor !== undefined && { waitsFor }) };
  },
  async waitOperation({ context, caller, path, query, signal }) {
    const operation = await requireOperation(context, path.operation);
    const { id } = operation;
    if (endedStates.has(operation.state) || query.seconds === 0) return operationFor(caller, operation);
    const timeout = AbortSignal.timeout(query.seconds * 1000);
    const until = AbortSignal.any([timeout, signal, context.stopping]);
    try {
      return operationFor(caller, await context.operations.ended(id, until));
    } catch (error) {
      if (!until.aborted) throw error;
      return operationFor(caller, await requireOperation(context, id));
    }
  },
  async listOperationChildren({ context, caller, path }) {
    const { id } = await requireOperation(context, path.operation);
    const children = await context.operationLists.children(id);
    return { items: children.map((one) => operationFor(caller, one)) };
  },
  async listOperationLogs({ context, path, query }) {
    const { id } = await requireOperation(context, path.operation);
    return context.operationLists.logs(id, pageQuery(query));
  },
  async cancelOperation(call) {
    const operation = await requireOwnOperation(call);
    return {
      subject: `operation/${operation.id}`,
      before: operationTrail(operation),
      async plan() {
        if (endedStates.has(operation.state)) throw ended(operation);
        return [`Undo and stop ${operation.kind} of ${operation.subject}, which is ${operation.state}.`];
      },
      run: () => call.context.operations.cancel(operation.id, call.caller.who),
      record: operationTrail,
    };
  },
  async retryOperation(call) {
    const operation = await requireOwnOperation(call);
    const { kind, subject, input, key } = operation;
    const { by, osUser } = personOf(call.caller);
    return {
      subject: `operation/${operation.id}`,
      before: operationTrail(operation),
      async plan() {
        if (!endedStates.has(operation.state)) throw stillLive(operation);
        return call.context.operations.plan({
          kind,
          subject,
          input,
          key,
          ...{ by, osUser },
          retryOf: operation.id,
        });
      },
      run: () => call.context.operations.retry(operation.id, by, call.operationId, osUser),
      record: operationTrail,
    };
  },
} satisfies Partial<Handlers>;

async function requireOperation(context: DaemonContext, id: string): Promise<OperationRecord> {
  const operation = (await context.journal.get(id)) ?? (await findByStart(context, id));
  if (operation !== undefined) return operation;
  throw new ImagoError('operation-not-found', `There is no operation ${id}.`, {
    hint: 'See `imago op list`.',
  });
}

/** Finds the only operation whose id starts with a text that is long enough to mean one. */
async function findByStart(context: DaemonContext, start: string): Promise<OperationRecord | undefined> {
  if (!/^[0-9a-f][0-9a-f-]{3,35}$/.test(start)) return undefined;
  const [found, ...others] = await context.operationLists.startingWith(start);
  if (found === undefined) return undefined;
  if (others.length === 0) return context.journal.get(found);
  throw new ImagoError('input-invalid', `More than one operation starts with ${start}.`, {
    hint: 'Give more characters of the id: `imago op list -o wide` shows it in full.',
  });
}

/** Says what an operation waits for: the one that holds its key, or what its step reported. */
async function waitOf(
  { journal }: DaemonContext,
  { id, key, state, progress }: OperationRecord,
): Promise<string | undefined> {
  if (state !== 'queued') return state === 'waiting' ? progress?.sentence : undefined;
  const holder = (await journal.live()).find((other) => other.key === key && other.id !== id);
  const found = holder && (await journal.get(holder.id));
  return found && `operation ${found.id} (${found.kind} of ${found.subject}), which is ${found.state}`;
}

/** Also checks that the caller may start such an operation. */
async function requireOwnOperation(
  call: Pick<Call<'cancelOperation'>, 'context' | 'path' | 'caller'>,
): Promise<OperationRecord> {
  const operation = await requireOperation(call.context, call.path.operation);
  requireRole(call.caller, roleOfKind(operation.kind), `an operation of kind ${operation.kind}`);
  return operation;
}

function ended({ id, state }: OperationRecord): ImagoError {
  return new ImagoError('operation-ended', `Operation ${id} has ended already: ${state}.`);
}

function stillLive({ id, state }: OperationRecord): ImagoError {
  return new ImagoError('operation-busy', `Operation ${id} is still ${state}.`);
}
