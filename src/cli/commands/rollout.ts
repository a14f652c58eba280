// Commands for rollouts that print in their own way. The others follow from the contract.
import type { ResponseOf } from '../../api/contract/types.ts';
import { keyValueLines } from '../output/table.ts';
import { group, show } from '../run/builders.ts';
import { derivedFlags } from '../run/derived.ts';

const poolArgument = { name: 'POOL', description: 'Name of the pool', completes: 'pool' } as const;
type Turns = ResponseOf<'showRollout'>['nodes'];
const maxShown = 20;

export const command = group({
  plan: show('planRollout', {
    summary: 'Show what a rollout of a pool would do',
    details:
      'Shows which nodes would move, in what order and when, and why. Takes the flags of `rollout start`.',
    args: [poolArgument],
    flags: derivedFlags('startRollout'),
    examples: [['imago rollout plan web --reference node:1.34.2', 'Preview a move to one version']],
    lines: (plan) => [
      ...keyValueLines({
        ...{
          pool: plan.pool,
          to: name(plan.to),
          through: plan.through.join(', ') || undefined,
          'returns to': name(plan.from),
        },
        ...{ nodes: plan.nodes.length, current: plan.current.length, 'at a time': plan.maxUnavailable },
        ...{ 'extra nodes': plan.extraNodes, bytes: plan.bytes, 'complete at': plan.endsAt },
      }),
      ...turnLines(plan.nodes),
      ...plan.differences,
    ],
  }),
  status: show('showRollout', {
    summary: 'Show the last rollout of a pool, and what it waits for',
    args: [poolArgument],
    examples: [['imago rollout status web', "Show its current wave, and each node's turn"]],
    lines: (rollout) => [
      ...keyValueLines({
        ...{ pool: rollout.pool, operation: rollout.operation, state: rollout.state, paused: rollout.paused },
        ...{ to: name(rollout), 'returns to': name(rollout.from), step: rollout.step },
        ...{
          now: rollout.sentence,
          reason: rollout.reason,
          started: rollout.at,
          nodes: summary(rollout.nodes),
        },
      }),
      ...turnLines(rollout.nodes.filter(({ state }) => state !== 'moved')),
    ],
  }),
});

function name({ image, version }: { readonly image: string; readonly version: string }): string {
  return `${image}:${version}`;
}

function summary(nodes: Turns): string | undefined {
  const states = [...Map.groupBy(nodes, ({ state }) => state)];
  return states.length === 0 ? undefined : states.map(([state, of]) => `${of.length} ${state}`).join(', ');
}

function turnLines(nodes: Turns): readonly string[] {
  const lines = nodes.slice(0, maxShown).map(({ name: node, wave, state, sentence, expectedAt }) => {
    const when = expectedAt === undefined ? '' : `, expected at ${expectedAt}`;
    return `${wave}: ${node} ${state}${when}${sentence === undefined ? '' : `: ${sentence}`}`;
  });
  return nodes.length > maxShown ? [...lines, `and ${nodes.length - maxShown} more; --json has all`] : lines;
}
