// What every command that starts an operation does: dry run, start, follow to the end, print the result.
import type { Client } from '../../api/client/client.ts';
import type { AnswerOf, InputOf, WriteEndpoint } from '../../api/contract/types.ts';
import { type FlagSpec, type Invocation, isSet } from '../spec/command.ts';
import { confirm } from './confirm.ts';
import { followOperation } from './follow-operation.ts';

type Operation = AnswerOf<'showOperation'>;

export const operationFlags = {
  'dry-run': { what: 'say what would be done, and do nothing' },
  'no-wait': { what: 'start it and return at once' },
  'refuse-if-busy': { what: 'fail instead of waiting when another operation holds the same subject' },
} as const satisfies Record<string, FlagSpec>;

export interface OperationCall<N extends WriteEndpoint> {
  readonly endpoint: N;
  readonly input: InputOf<N>;
  /** Destructive: the plan is shown and confirmed first. */
  readonly irreversible?: boolean;
  /** The lines for people when it succeeded. */
  readonly lines: (result: Record<string, unknown>) => readonly string[];
  /** The result's name for `-o name`. */
  readonly name: (result: Record<string, unknown>) => string;
}

export async function runOperation<N extends WriteEndpoint>(
  invocation: Invocation,
  call: OperationCall<N>,
): Promise<void> {
  const client = await invocation.client();
  if (isSet(invocation, 'dry-run')) return showPlan(invocation, client, call);
  if (call.irreversible) await confirmPlan(invocation, client, call);
  const started = await startOperation(invocation, client, call);
  if (isSet(invocation, 'no-wait')) {
    invocation.out.thing(started, started.id, () => [
      `Started ${started.kind} ${started.id}. Watch it with \`imago op watch ${started.id}\`.`,
    ]);
    return;
  }
  const ended = await followOperation(invocation, client, started.id, started);
  const result = (ended.result ?? {}) as Record<string, unknown>;
  invocation.out.thing({ ...result, operation: ended.id }, call.name(result), () => call.lines(result));
}

/** Shows the plan and asks, unless --yes is given. */
export async function confirmPlan<N extends WriteEndpoint>(
  invocation: Invocation,
  client: Client,
  { endpoint, input }: Pick<OperationCall<N>, 'endpoint' | 'input'>,
): Promise<void> {
  if (isSet(invocation, 'yes')) return;
  await confirm(invocation, (await client.plan(endpoint, input)).plan);
}

/** Starts it and follows it to its end; for commands that do something of their own with the result. */
export async function performOperation<N extends WriteEndpoint>(
  invocation: Invocation,
  client: Client,
  call: Pick<OperationCall<N>, 'endpoint' | 'input'>,
): Promise<Operation> {
  const started = await startOperation(invocation, client, call);
  return followOperation(invocation, client, started.id, started);
}

async function startOperation<N extends WriteEndpoint>(
  invocation: Invocation,
  client: Client,
  { endpoint, input }: Pick<OperationCall<N>, 'endpoint' | 'input'>,
): Promise<Operation> {
  const busy = isSet(invocation, 'refuse-if-busy') ? { whenBusy: 'refuse' } : {};
  const whole = { ...(input as object), ...busy } as unknown as InputOf<N>;
  const words = [endpoint, whole] as unknown as Parameters<typeof client.call<N>>;
  return (await client.call(...words)) as Operation;
}

export async function showPlan<N extends WriteEndpoint>(
  invocation: Invocation,
  client: Client,
  call: Pick<OperationCall<N>, 'endpoint' | 'input'>,
): Promise<void> {
  const plan = await client.plan(call.endpoint, call.input);
  invocation.out.thing(plan, plan.subject, () => [
    'Would do, and nothing was written:',
    ...plan.plan.map((line) => `  ${line}`),
  ]);
}
