// Changes the config of a pool, or of one node, while it runs. One node tries it first; the pool's model, from which
// new nodes are made, changes only when every node has taken the config or waits with it (rule 3).
import * as z from 'zod';
import { withHotfix } from '../../domain/node-config/hotfix.ts';
import { highestCost, planChanges } from '../../domain/node-config/plan-changes.ts';
import type { HotfixConfig, NodeConfig } from '../../domain/node-config/schema.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { type OperationDeps, requireRole } from '../common/deps.ts';
import { inBatches } from '../common/in-batches.ts';
import { poolAccess, requirePool } from '../node/pool-nodes.ts';
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
import { emptyConfig, readStoredConfig, renderText, storedText } from './text.ts';

const nodeConfigSetInput = z
  .object({
    pool: z.string(),
    /** Only this node of it; its pool and all others stay as they are. */
    node: z.string().optional(),
    /** The whole document, as JSON; secrets by their names. */
    document: z.string().optional(),
    /** Or one component on top of what is there. */
    hotfix: z.record(z.string(), z.json()).optional(),
  })
  .refine(({ document, hotfix }) => (document === undefined) !== (hotfix === undefined), {
    message: 'needs one of document and hotfix',
  });
export type NodeConfigSetInput = z.infer<typeof nodeConfigSetInput>;
type Context = StepContext<NodeConfigSetInput>;

interface Remembered {
  readonly before: ConfigBefore;
  /** In its stored form. */
  readonly wanted: string;
}

export function nodeConfigSetOperation(deps: OperationDeps): OperationKind<NodeConfigSetInput> {
  return {
    kind: 'node-config-set',
    parse(input) {
      const parsed = parseInput(nodeConfigSetInput, input);
      wantedConfig(parsed, emptyConfig);
      return parsed;
    },
    async plan(input) {
      const before = await look(deps, input, AbortSignal.timeout(60_000));
      const now = configBefore(before, input.node);
      const wanted = wantedConfig(input, now);
      await requireOfImages(deps, before, wanted);
      await renderText(deps, wanted, factsOf(input));
      return [
        ...planSentences(input, now, wanted, before.nodes.length),
        ...(input.node === undefined
          ? ownConfigLines(before, inPool(wanted, input.pool), hotfixOf(input))
          : []),
      ];
    },
    steps: ({ node }) => [
      rememberStep(deps),
      sendStep(deps, 'try', (names) => names.slice(0, 1)),
      sendStep(deps, 'send', (names) => names.slice(1)),
      ...(node === undefined ? [modelStep(deps), recordStep(deps), adoptStep(deps)] : []),
    ],
    result: resultOf,
  };
}

/**
 * A document that does not mention `hotfixes` leaves those that there are. Throws `node-config-invalid` for what
 * would not be a good config.
 */
function wantedConfig(input: NodeConfigSetInput, before: NodeConfig): NodeConfig {
  const hotfix = hotfixOf(input);
  if (hotfix !== undefined) return readStoredConfig(storedText(withHotfix(before, hotfix)));
  const { hotfixes } = before;
  const config = readStoredConfig(input.document ?? '{}');
  return config.hotfixes === undefined && hotfixes !== undefined ? { ...config, hotfixes } : config;
}

function hotfixOf({ hotfix }: NodeConfigSetInput): HotfixConfig | undefined {
  return hotfix as unknown as HotfixConfig | undefined;
}

/** A node that runs has its name from instance metadata: to be told it anew would cost a new disk. */
function factsOf({ pool }: NodeConfigSetInput) {
  return { pool };
}

function planSentences(
  { pool, node }: NodeConfigSetInput,
  before: NodeConfig,
  wanted: NodeConfig,
  nodes: number,
): readonly string[] {
  const changes = planChanges(inPool(before, pool), inPool(wanted, pool));
  const whom = node === undefined ? `pool ${pool} (${nodes} nodes)` : `node ${node}`;
  if (changes.length === 0) return [`The config of ${whom} says this already.`];
  return [
    ...changeLines(inPool(before, pool), inPool(wanted, pool)),
    `${capital(whom)}: ${costSentences[highestCost(changes)]}`,
  ];
}

/** What a node was told names its pool; what people write does not. */
function inPool(config: NodeConfig, pool: string): NodeConfig {
  return { ...config, node: { ...config.node, pool } };
}

const costSentences = {
  live: 'applied at once, nothing restarts.',
  restart: 'applied at once, services restart.',
  drain: 'each node waits until it is drained.',
  reimage: 'each node keeps its config until it gets a new disk.',
} as const;

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function accessTo(deps: OperationDeps, name: string, signal: AbortSignal) {
  const pool = await requirePool(deps, name);
  const access = poolAccess(deps, pool.provider, signal);
  requireRole(access.provider, 'nodeConfigs');
  return { pool, access };
}

async function look(
  deps: OperationDeps,
  input: NodeConfigSetInput,
  signal: AbortSignal,
): Promise<ConfigBefore> {
  const { pool, access } = await accessTo(deps, input.pool, signal);
  return readBefore(deps, access, pool, input.node);
}

function rememberStep(deps: OperationDeps): WorkStep<NodeConfigSetInput> {
  return {
    name: 'remember',
    async do({ input, signal }) {
      const before = await look(deps, input, signal);
      const wanted = wantedConfig(input, configBefore(before, input.node));
      await requireOfImages(deps, before, wanted);
      return { before: { ...before }, wanted: storedText(wanted) } as unknown as Json;
    },
  };
}

/** Nodes of one pool may be of several versions, and so may the next. */
async function requireOfImages(deps: OperationDeps, before: ConfigBefore, wanted: NodeConfig): Promise<void> {
  for (const version of before.versions) await requireImageAbilities(deps, version, wanted);
}

function remembered(context: Context): Remembered {
  return requireResult<Remembered>(context, 'remember');
}

function sendStep(
  deps: OperationDeps,
  name: 'try' | 'send',
  choose: (nodes: ConfigBefore['nodes']) => ConfigBefore['nodes'],
): WorkStep<NodeConfigSetInput> {
  async function sending(context: Context): Promise<Sending> {
    const { input, signal } = context;
    const { before, wanted } = remembered(context);
    const { access } = await accessTo(deps, input.pool, signal);
    const text = await renderText(deps, readStoredConfig(wanted), factsOf(input));
    const names = choose(before.nodes).map((node) => node.name);
    const isWhole = input.node !== undefined && input.document !== undefined;
    const texts = isWhole
      ? new Map(names.map((name) => [name, text]))
      : await layeredTexts(access, input.pool, { names, wanted: text, hotfix: hotfixOf(input) });
    return { access, pool: input.pool, texts, sha256: deps.sha256 };
  }
  return {
    name,
    do: async (context) => (await sendConfigs(await sending(context), context)) as unknown as Json,
    verify: async (context) => (await outcomesNow(await sending(context))) as unknown as Json | undefined,
    async undo(context) {
      const { access } = await accessTo(deps, context.input.pool, context.signal);
      await putBack(deps, access, context.input.pool, choose(remembered(context).before.nodes));
      return undefined;
    },
  };
}

function modelStep(deps: OperationDeps): WorkStep<NodeConfigSetInput> {
  async function wantedText(context: Context): Promise<string> {
    return renderText(deps, readStoredConfig(remembered(context).wanted), factsOf(context.input));
  }
  return {
    name: 'model',
    async do(context) {
      await writeModel(deps, context, await wantedText(context));
      return undefined;
    },
    async verify(context) {
      const { access } = await accessTo(deps, context.input.pool, context.signal);
      const now = await access.pools.getPool(context.input.pool, access.options);
      return now?.model.nodeConfig === (await wantedText(context)) ? null : undefined;
    },
    async undo(context) {
      await writeModel(deps, context, await renderRecorded(deps, remembered(context).before.model));
      return undefined;
    },
  };
}

/** Only the config: the image may have been moved meanwhile by the channel that the pool follows. */
async function writeModel(deps: OperationDeps, context: Context, nodeConfig: string): Promise<void> {
  const { access } = await accessTo(deps, context.input.pool, context.signal);
  const now = await access.pools.getPool(context.input.pool, access.options);
  if (now === undefined || now.model.nodeConfig === nodeConfig) return;
  const model = { ...now.model, nodeConfig };
  await access.pools.setModel(context.input.pool, model, { ifMatch: now.etag }, access.options);
}

function recordStep(deps: OperationDeps): WorkStep<NodeConfigSetInput> {
  return {
    name: 'record',
    async do(context) {
      await deps.fleet.setPoolConfig(context.input.pool, remembered(context).wanted);
      return undefined;
    },
    async undo(context) {
      await deps.fleet.setPoolConfig(context.input.pool, remembered(context).before.pool);
      return undefined;
    },
  };
}

function adoptStep(deps: OperationDeps): WorkStep<NodeConfigSetInput> {
  return {
    name: 'adopt',
    async do(context) {
      const { access } = await accessTo(deps, context.input.pool, context.signal);
      const latest = remembered(context).before.nodes.filter((node) => node.latest);
      await inBatches(latest, ({ name }) => bringToModel(access, context.input.pool, name));
      return undefined;
    },
  };
}

const waitingShown = 100;

function resultOf(context: Context): Json {
  const outcomes = { ...outcomesOf(context, 'try'), ...outcomesOf(context, 'send') };
  const waiting = Object.entries(outcomes).flatMap(([node, outcome]) =>
    outcome.state === 'waiting' ? [{ node, for: outcome.for, pending: outcome.pending }] : [],
  );
  const count = (state: string) => Object.values(outcomes).filter((one) => one.state === state).length;
  return {
    pool: context.input.pool,
    ...(context.input.node === undefined ? {} : { node: context.input.node }),
    nodes: Object.keys(outcomes).length,
    applied: count('applied'),
    stopped: count('stopped'),
    waiting: waiting.length,
    waitingNodes: waiting.slice(0, waitingShown),
  } as unknown as Json;
}

function outcomesOf(context: Context, step: string): Outcomes {
  return (context.result<Json>(step) ?? {}) as unknown as Outcomes;
}
