// The config of one node.
import type { AnswerOf } from '../../../api/contract/types.ts';
import { facts } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show the config that a node has, by its digest, and what it waits with',
  details: 'As the node itself reports. Secrets are left out.',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  examples: [['imago node config show web-000001', 'what is in force, and what is pending']],
  async run(invocation) {
    const client = await invocation.client();
    const view = await client.call('showNodeConfig', { path: { node: argument(invocation, 'NODE') } });
    invocation.out.thing(view, view.config?.digest ?? view.node, () => configLines(view));
  },
};

export function configLines(view: AnswerOf<'showNodeConfig'>): string[] {
  const { config, wanted, pending, error } = view;
  return [
    ...facts({
      node: view.node,
      phase: view.phase ?? 'nothing is heard of it yet',
      reported: view.reportedAt,
      config: config?.digest,
      wanted: wanted?.digest,
      waiting: view.waiting === undefined ? undefined : waitingTexts[view.waiting],
      error: error === undefined ? undefined : `${error.message} (${error.class})`,
      remedy: error?.remedy,
    }),
    ...pending.map(({ sentence, cost }) => `pending: ${sentence} (${cost})`),
    ...(config?.document === undefined ? [] : [JSON.stringify(config.document, null, 2)]),
  ];
}

const waitingTexts = {
  restart: 'for leave to restart services: `imago node config allow`',
  drain: 'until it is drained: `imago node config allow` when it is',
  reimage: 'for a new disk',
} as const;
