// One operation with its steps.
import type { Client } from '../../../api/client/client.ts';
import type { ItemOf } from '../../../api/contract/types.ts';
import { facts } from '../../output/table.ts';
import { stepLine } from '../../run/follow-operation.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

type LogLine = ItemOf<'listOperationLogs'>;

async function allLines(client: Client, path: { readonly operation: string }): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of client.items('listOperationLogs', { path })) lines.push(line);
  return lines;
}

export const command: CommandSpec = {
  summary: 'Show one operation with its steps',
  args: [{ name: 'OPERATION', what: 'its id', completes: 'operation' }],
  flags: { logs: { what: 'print its log too' } },
  examples: [['imago op show ID --logs', 'steps, timings, error and log']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { operation: argument(invocation, 'OPERATION') };
    const operation = await client.call('showOperation', { path });
    const children = await client.call('listOperationChildren', { path });
    const logs = isSet(invocation, 'logs') ? await allLines(client, path) : undefined;
    const whole = {
      ...operation,
      children: children.items.map((child) => child.id),
      ...(logs && { logs }),
    };
    invocation.out.thing(whole, operation.id, () => [
      ...facts({
        id: operation.id,
        kind: operation.kind,
        subject: operation.subject,
        state: operation.state,
        by: operation.by,
        created: operation.createdAt,
        started: operation.startedAt,
        ended: operation.endedAt,
        parent: operation.parent,
        'retry of': operation.retryOf,
        'cancel asked by': operation.cancelRequestedBy,
      }),
      ...operation.steps.map((step) => stepLine(invocation, step) ?? `· ${step.name} (${step.state})`),
      ...(operation.error === undefined
        ? []
        : [`error (${operation.error.kind}): ${operation.error.message}`]),
      ...(operation.error?.hint === undefined ? [] : [`hint: ${operation.error.hint}`]),
      ...operation.exceptions.map((exception) => `! not put back: ${exception}`),
      ...children.items.map((child) => `child ${child.id} ${child.kind} ${child.state}`),
      ...(logs?.map((line) => `${line.at} ${line.line}`) ?? []),
    ]);
  },
};
