// Sends nodes a config and waits for the report of each.

import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settle } from '../../workflow/poll-until.ts';
import { type OperationDeps, requireRole } from '../common/deps.ts';
import { inBatches, unlessGone } from '../common/in-batches.ts';
import type { Run } from '../common/operation.ts';
import { type PoolAccess, waiting } from '../node/pool-nodes.ts';
import { type ConfigOutcome, configOutcome } from './outcome.ts';

/** The text for each node, by the node's name. Contains secrets: never recorded. */
export type NodeTexts = ReadonlyMap<string, string>;
export type Outcomes = Readonly<Record<string, ConfigOutcome>>;

export interface Sending {
  readonly access: PoolAccess;
  readonly pool: string;
  readonly texts: NodeTexts;
  readonly sha256: OperationDeps['sha256'];
}

const answerDeadlineMs = 15 * 60_000;

/** Sends what a node does not have yet, and waits until each has responded. Nodes that no longer exist are skipped. */
export async function sendConfigs(sending: Sending, { progress }: Pick<Run, 'progress'>): Promise<Outcomes> {
  const { access, pool, texts } = sending;
  const configs = requireRole(access.provider, 'nodeConfigs');
  await overNodes(sending, async ({ name }, text) => {
    await configs.setUserData(pool, name, text, access.options);
  });
  return settle(
    async () => {
      const outcomes = await readOutcomes(sending);
      const answered = Object.keys(outcomes.found).length;
      progress(answered, texts.size, `${answered} of ${texts.size} nodes of ${pool} have responded`);
      return outcomes.open.length === 0 ? outcomes.found : undefined;
    },
    waiting(
      access,
      `The config of ${texts.size === 1 ? `node ${[...texts.keys()][0]}` : `pool ${pool}`}`,
      answerDeadlineMs,
    ),
  );
}

/** The outcomes so far; `undefined` if a node does not have its config yet, or has not responded. */
export async function outcomesNow(sending: Sending): Promise<Outcomes | undefined> {
  const { access, pool } = sending;
  const configs = requireRole(access.provider, 'nodeConfigs');
  let isSent = true;
  await overNodes(sending, async ({ name }, text) => {
    if ((await configs.getUserData(pool, name, access.options)) !== text) isSent = false;
  });
  if (!isSent) return undefined;
  const { found, open } = await readOutcomes(sending);
  return open.length === 0 ? found : undefined;
}

async function readOutcomes(
  sending: Sending,
): Promise<{ readonly found: Outcomes; readonly open: readonly string[] }> {
  const { access, pool, sha256 } = sending;
  const configs = requireRole(access.provider, 'nodeConfigs');
  const found = new Map<string, ConfigOutcome>();
  const open: string[] = [];
  await overNodes(sending, async ({ name, power }, text) => {
    const report = await configs.getReport(pool, name, access.options);
    const outcome =
      power === 'stopped' ? ({ state: 'stopped' } as const) : configOutcome(name, report, sha256(text));
    if (outcome === undefined) open.push(name);
    else found.set(name, outcome);
  });
  const inOrder = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { found: Object.fromEntries(inOrder), open };
}

/** Does the work for each node that still exists, some concurrently. */
async function overNodes(
  { access, pool, texts }: Sending,
  work: (node: ProviderNode, text: string) => Promise<void>,
): Promise<void> {
  await inBatches([...texts], async ([name, text]) => {
    const node = await access.pools.getNode(pool, name, access.options);
    if (node !== undefined && node.state !== 'deleting') await unlessGone(work(node, text));
  });
}
