// The config of one node, as its provider and its agent tell it.
import { createHash } from 'node:crypto';
import type { ResponseOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { NodeConfigRef, NodeReport } from '../../../domain/node/report.ts';
import { hideSecrets } from '../../../domain/node-config/map-secrets.ts';
import { nodeRules, readNodeConfig } from '../../../domain/node-config/read-node-config.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import type { NodeRecord } from '../../../ports/database/fleet.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { NodeConfigs } from '../../../ports/provider/node-configs.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import { requireLiveNode } from './node.ts';

type View = ResponseOf<'showNodeConfig'>;
type NodeCall = Pick<Call<'showNodeConfig' | 'allowNodeConfig'>, 'context' | 'path' | 'limits' | 'signal'>;

export const nodeConfigHandlers = {
  async showNodeConfig(call) {
    return lookAtConfig(await nodeConfigsOf(call));
  },
  async allowNodeConfig(call) {
    const place = await nodeConfigsOf(call);
    const { name, pool } = place.record;
    const { for: cost, digest = '' } = (await place.report())?.waiting ?? {};
    if (cost === 'reimage') {
      throw new ImagoError('node-config-needs-disk', `The pending config of ${name} needs a new disk.`);
    }
    return {
      subject: `node/${name}`,
      plan: async () => [
        cost === undefined
          ? `Node ${name} waits for nothing.`
          : `Let node ${name} apply the config ${digest.slice(0, 12)}, which costs a ${cost}.`,
      ],
      async run() {
        const options = { ...place.options, epoch: call.context.epoch ?? 0 };
        if (cost !== undefined) await place.configs.allowChange(pool, name, { cost, digest }, options);
        return lookAtConfig(place);
      },
    };
  },
} satisfies Partial<Handlers>;

interface Place {
  readonly record: NodeRecord;
  readonly configs: NodeConfigs;
  readonly options: CallOptions;
  report(): Promise<NodeReport | undefined>;
  /** Texts that the node can have received. */
  texts(): Promise<readonly string[]>;
}

async function nodeConfigsOf({ context, path, limits, signal }: NodeCall): Promise<Place> {
  const record = await requireLiveNode(context.fleet, path.node);
  const { provider: name } = await requirePool(context, record.pool);
  const provider = context.providers.get(name);
  const configs = provider?.nodeConfigs;
  if (configs === undefined) {
    throw new ImagoError('provider-lacks', `Provider ${name} does not tell the configs of its nodes.`);
  }
  const options = { signal: AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]), epoch: 0 };
  return {
    record,
    configs,
    options,
    report: () => configs.getReport(record.pool, record.name, options),
    async texts() {
      const told = await configs.getUserData(record.pool, record.name, options);
      const model = (await provider?.pools?.getPool(record.pool, options))?.model.nodeConfig;
      return model === undefined ? [told] : [told, model];
    },
  };
}

async function lookAtConfig(place: Place): Promise<View> {
  const { name: node, pool } = place.record;
  const report = await place.report();
  if (report === undefined) return { node, pool, pending: [] };
  const texts = await place.texts();
  const { phase, at, config, wanted, pending, waiting, error } = report;
  return {
    ...{ node, pool, phase, reportedAt: at },
    ...(config === undefined ? {} : { config: withDocument(config, texts) }),
    ...(wanted === undefined ? {} : { wanted: withDocument(wanted, texts) }),
    pending: [...pending],
    ...(waiting === undefined ? {} : { waiting: waiting.for }),
    ...(error === undefined ? {} : { error }),
  };
}

function withDocument(ref: NodeConfigRef, texts: readonly string[]): NonNullable<View['config']> {
  const text = texts.find((one) => createHash('sha256').update(one).digest('hex') === ref.digest);
  const document = text === undefined ? undefined : shownDocument(text);
  return { ...ref, ...(document === undefined ? {} : { document }) };
}

/** What cannot be read may hold a secret anywhere, and is not shown. */
function shownDocument(text: string): NonNullable<View['config']>['document'] {
  try {
    const { config } = readNodeConfig(text, nodeRules);
    return JSON.parse(JSON.stringify(hideSecrets(config, new Map())));
  } catch (thrown) {
    if (thrown instanceof ImagoError) return undefined;
    throw thrown;
  }
}
