// Changes the config of a pool, or of one node, while it runs. One node tries it first; the pool's model, from which new
// nodes are created, changes only when every node has applied the config or has it pending (rule 3).
import type * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/node-config/operations.ts';
import { hotfixOf, wantedConfig } from '../../domain/node-config/operations.ts';
import { highestCost, planChanges } from '../../domain/node-config/plan-changes.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { readStoredConfig, storedText } from '../../domain/node-config/stored-config.ts';
import { requireRole } from '../common/deps.ts';
import { inBatches } from '../common/in-batches.ts';
import { operation, type Reading, type Run, type StepBody } from '../common/operation.ts';
import { joinedConfig } from '../node/join.ts';
import { type OpenPool, openPool } from '../node/pool-nodes.ts';
import {
  bringToModel,
  type ConfigBefore,
  configBefore,
  putBack,
  readBefore,
  renderRecorded,
} from './before.ts';
import { requireImageAbilities } from './check-image.ts';
import { changeLines, layeredTexts, ownConfigLines } from './layers.ts';
import { type Outcomes, outcomesNow, type Sending, sendConfigs } from './send.ts';
import { renderText } from './text.ts';

type SetInput = z.output<typeof declared.nodeConfigSet.input>;
type Target = Pick<SetInput, 'pool' | 'node'>;

interface Remembered {
  readonly before: ConfigBefore;
  /** In its stored form. */
  readonly wanted: string;
}

type SetRun = Run<SetInput, { readonly remember: Remembered }>;

/** A step that only a change of the entire pool has. */
const ofPool = { when: ({ node }: Target) => node === undefined };

export const nodeConfigSet = operation(declared.nodeConfigSet, {
  async plan(run) {
    const { pool, node } = run.input;
    const { before, now, wanted } = await readChange(run);
    await renderText(run, wanted, { pool });
    return [
      ...planSentences(run.input, now, wanted, before.nodes.length),
      ...(node === undefined ? ownConfigLines(before, inPool(wanted, pool), hotfixOf(run.input)) : []),
    ];
  },
})
  .step('remember', async (run): Promise<Remembered> => {
    const { before, wanted } = await readChange(run);
    return { before, wanted: storedText(wanted) };
  })
  .step(
    'try',
    sendBody((names) => names.slice(0, 1)),
  )
  .step(
    'send',
    sendBody((names) => names.slice(1)),
  )
  .step('model', {
    ...ofPool,
    do: async (run) => writeModel(run, await wantedText(run)),
    async verify(run) {
      const { pools } = await openConfigs(run);
      const seen = await pools.getPool(run.input.pool, run.call);
      return seen?.model.nodeConfig === (await wantedText(run)) ? null : undefined;
    },
    undo: async (run) => writeModel(run, await renderRecorded(run, run.result('remember').before.model)),
  })
  .step('record', {
    ...ofPool,
    async do(run) {
      await run.fleet.setPoolConfig(run.input.pool, run.result('remember').wanted);
    },
    async undo(run) {
      await run.fleet.setPoolConfig(run.input.pool, run.result('remember').before.pool);
    },
  })
  .step('adopt', {
    ...ofPool,
    async do(run) {
      const access = await openConfigs(run);
      const latest = run.result('remember').before.nodes.filter((node) => node.latest);
      await inBatches(latest, ({ name }) => bringToModel(access, run.input.pool, name));
    },
  })
  .result((run) => {
    const { pool, node } = run.input;
    const outcomes = { ...run.maybe('try'), ...run.maybe('send') };
    const waiting = Object.entries(outcomes).flatMap(([name, outcome]) =>
      outcome.state === 'waiting' ? [{ node: name, for: outcome.for, pending: outcome.pending }] : [],
    );
    const count = (state: string) => Object.values(outcomes).filter((one) => one.state === state).length;
    return {
      ...{ pool, ...(node !== undefined && { node }), nodes: Object.keys(outcomes).length },
      ...{ applied: count('applied'), stopped: count('stopped'), waiting: waiting.length },
      waitingNodes: waiting.slice(0, waitingShown),
    };
  });

const waitingShown = 100;

async function openConfigs(run: Reading<Target>): Promise<OpenPool> {
  const access = await openPool(run, run.input.pool);
  requireRole(access.provider, 'nodeConfigs');
  return access;
}

/** Returns the current and the new config. Throws if an image of a node, or of the pool's next nodes, cannot have it. */
async function readChange(run: Reading<SetInput>) {
  const access = await openConfigs(run);
  if (run.input.node !== undefined && !hasOwnConfigs(access)) throw noOwnConfigs(run.input);
  const before = await readBefore(run, access, run.input.node);
  const now = configBefore(before, run.input.node);
  const { provider, pool } = access;
  const wanted = await joinedConfig(run, provider, pool.cluster, wantedConfig(run.input, now));
  for (const version of before.versions) await requireImageAbilities(run, version, wanted);
  return { before, now, wanted };
}

/** The text that nodes read. A running node has its name from instance metadata: changing it would cost a new disk. */
function wantedText(run: SetRun): Promise<string> {
  return renderText(run, readStoredConfig(run.result('remember').wanted), { pool: run.input.pool });
}

function sendBody(
  choose: (nodes: ConfigBefore['nodes']) => ConfigBefore['nodes'],
): StepBody<SetInput, { readonly remember: Remembered }, Outcomes> {
  async function sending(run: SetRun): Promise<Sending> {
    const { pool, node, document } = run.input;
    const access = await openConfigs(run);
    const text = await wantedText(run);
    const names = choose(run.result('remember').before.nodes).map(({ name }) => name);
    const isWhole = node !== undefined && document !== undefined;
    const texts = isWhole
      ? new Map(names.map((name) => [name, text]))
      : await layeredTexts(access, pool, { names, wanted: text, hotfix: hotfixOf(run.input) });
    return { access, pool, texts, sha256: run.sha256 };
  }
  return {
    async do(run) {
      const all = await sending(run);
      if (!hasOwnConfigs(await openConfigs(run))) await writeModel(run, await wantedText(run));
      return sendConfigs(all, run);
    },
    verify: async (run) => outcomesNow(await sending(run)),
    async undo(run) {
      const { before } = run.result('remember');
      const access = await openConfigs(run);
      if (!hasOwnConfigs(access)) await writeModel(run, await renderRecorded(run, before.model));
      await putBack(run, access, run.input.pool, choose(before.nodes));
    },
  };
}

/** Where nodes only get the config of the model, it changes first, and again when the change is undone. */
function hasOwnConfigs({ pool, provider: { abilities } }: OpenPool): boolean {
  return abilities.ownConfigs?.includes(pool.orchestration) !== false;
}

function noOwnConfigs({ pool, node }: Target): ImagoError {
  return new ImagoError(
    'provider-lacks',
    `Node ${node} cannot get a config of its own: its provider changes only the config of the whole pool ${pool}.`,
    {
      hint: 'Change the config of the pool, or use a pool that was created with `--orchestration flexible`.',
    },
  );
}

/** Writes only the config: the image may have been moved concurrently by the channel that the pool follows. */
async function writeModel(run: SetRun, nodeConfig: string): Promise<void> {
  const { pools } = await openConfigs(run);
  const { pool } = run.input;
  const seen = await pools.getPool(pool, run.call);
  if (seen === undefined || seen.model.nodeConfig === nodeConfig) return;
  await pools.setModel(pool, { ...seen.model, nodeConfig }, { ifMatch: seen.etag }, run.call);
}

function planSentences(
  { pool, node }: Target,
  before: NodeConfig,
  wanted: NodeConfig,
  nodes: number,
): readonly string[] {
  const changes = planChanges(inPool(before, pool), inPool(wanted, pool));
  const whom = node === undefined ? `pool ${pool} (${nodes} nodes)` : `node ${node}`;
  if (changes.length === 0) return [`The config of ${whom} is already as requested.`];
  return [
    ...changeLines(inPool(before, pool), inPool(wanted, pool)),
    `${capital(whom)}: ${costSentences[highestCost(changes)]}`,
  ];
}

/** The config that a node reads names its pool; the document of a user does not. */
function inPool(config: NodeConfig, pool: string): NodeConfig {
  return { ...config, node: { ...config.node, pool } };
}

const costSentences = {
  live: 'applied immediately, nothing restarts.',
  restart: 'applied immediately, services restart.',
  drain: 'each node waits until it is drained.',
  reimage: 'each node keeps its config until it gets a new disk.',
} as const;

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
