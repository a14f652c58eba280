// Commands for operations.
import type { ResponseOf } from '../../api/contract/types.ts';
import { keyValueLines } from '../output/table.ts';
import { group, list, write } from '../run/builders.ts';
import { argument, type CommandSpec, isSet, operationFlags, pageFlags } from '../spec/command.ts';

const args = [
  { name: 'OPERATION', description: 'Id of the operation, or its first characters', completes: 'operation' },
] as const;

const show: CommandSpec = {
  summary: 'Show an operation and its steps',
  args,
  flags: { logs: { description: 'Include its log' } },
  examples: [['imago op show ID --logs', 'Show steps, timings, error, and log']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { operation: argument(invocation, 'OPERATION') };
    const operation = await client.call('showOperation', { path });
    const children = (await client.call('listOperationChildren', { path })).items;
    const logs = isSet(invocation, 'logs')
      ? await Array.fromAsync(client.items('listOperationLogs', { path }))
      : undefined;
    const whole = { ...operation, children: children.map(({ id }) => id), logs };
    const { stepLine } = await import('../run/follow-operation.ts');
    const lineOf = (step: Step) => stepLine(invocation, step) ?? `· ${step.name} (${step.state})`;
    invocation.out.thing(whole, operation.id, () => [
      ...operationLines(operation, lineOf),
      ...children.map(({ id, kind, state }) => `child ${id} ${kind} ${state}`),
      ...(logs?.map(({ at, line }) => `${at} ${line}`) ?? []),
    ]);
  },
};

type Step = ResponseOf<'showOperation'>['steps'][number];

function operationLines(
  operation: ResponseOf<'showOperation'>,
  lineOf: (step: Step) => string,
): readonly string[] {
  const { error } = operation;
  return [
    ...keyValueLines({
      ...{ id: operation.id, kind: operation.kind, subject: operation.subject, state: operation.state },
      ...{ by: operation.by, created: operation.createdAt, started: operation.startedAt },
      ...{ ended: operation.endedAt, parent: operation.parent, 'retry of': operation.retryOf },
      'cancel requested by': operation.cancelRequestedBy,
      'waits for': operation.waitsFor,
    }),
    ...operation.steps.map(lineOf),
    ...(error === undefined ? [] : [`error (${error.kind}): ${error.message}`]),
    ...(error?.hint === undefined ? [] : [`hint: ${error.hint}`]),
    ...operation.exceptions.map((exception) => `! not undone: ${exception}`),
  ];
}

const watch: CommandSpec = {
  summary: 'Follow an operation until it finishes',
  details: 'Continues when the daemon restarts. Ctrl-C stops watching, not the operation.',
  args,
  examples: [['imago op watch ID', 'Show progress, step by step']],
  async run(invocation) {
    const client = await invocation.client();
    const { followOperation } = await import('../run/follow-operation.ts');
    const operation = await followOperation(invocation, client, argument(invocation, 'OPERATION'));
    invocation.out.thing(operation, operation.id, () => [
      `${operation.kind} of ${operation.subject} ${operation.state}`,
    ]);
  },
};

const retry: CommandSpec = {
  summary: 'Retry an operation, skipping completed steps',
  args,
  flags: { 'dry-run': operationFlags['dry-run'], 'no-wait': operationFlags['no-wait'] },
  examples: [['imago op retry ID', 'Start a new operation with the same request']],
  async run(invocation) {
    const path = { operation: argument(invocation, 'OPERATION') };
    const { proceeds, startAndFollow } = await import('../run/run-command.ts');
    if (!(await proceeds(invocation, 'retryOperation', { path }))) return;
    const ended = await startAndFollow(invocation, 'retryOperation', { path });
    if (ended === undefined) return;
    const result = (ended.result ?? {}) as Readonly<Record<string, unknown>>;
    invocation.out.thing(
      { ...result, operation: ended.id },
      String(result.name ?? result.image ?? ''),
      () => [JSON.stringify(result)],
    );
  },
};

export const command = group({
  list: list('listOperations', {
    summary: 'List operations, newest first',
    details:
      'Finished operations are retained for a year and their logs for 30 days; the settings IMAGO_KEEP_OPERATIONS and IMAGO_KEEP_LOGS in the environment of the daemon change the number of days. Versions, moves, nodes, and the audit log are retained permanently.',
    flags: {
      state: {
        description: 'List only operations in this state',
        value: 'STATE',
        choices: ['queued', 'running', 'waiting', 'undoing', 'succeeded', 'failed', 'cancelled'],
      },
      kind: { description: 'List only operations of this kind', value: 'KIND' },
      subject: {
        description: 'List only operations on this subject, for example pool/web',
        value: 'SUBJECT',
      },
      ...pageFlags,
    },
    examples: [
      ['imago op list', 'List the latest operations'],
      ['imago op list --state failed', 'List failed operations'],
    ],
    columns: [
      ['id', ({ id }) => id.slice(0, 8)],
      ...(['kind', 'subject', 'state', ['step', 'currentStep'], 'by', ['created', 'createdAt']] as const),
    ],
  }),
  show,
  watch,
  cancel: write('cancelOperation', {
    summary: 'Cancel an operation and undo its changes',
    args,
    examples: [['imago op cancel ID', 'Cancel it, then follow with `imago op watch`']],
    done: ({ id }) => `Operation ${id} is being cancelled. Watch it with \`imago op watch ${id}\`.`,
  }),
  retry,
});
