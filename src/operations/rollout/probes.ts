// Runs the probes of a rollout on the nodes that it moved. A probe that cannot be run says nothing about a version: the
// rollout waits, and does not return.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { KubeNode } from '../../domain/kube/objects.ts';
import { fillIn, judgeQuery, type Probe, parseProbe } from '../../domain/rollout/probe.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { OperationDeps } from '../common/deps.ts';
import { inBatches } from '../common/in-batches.ts';

const probeMs = 10_000;
/** One lost packet is not a faulty version. */
const tries = 3;
const againMs = 2_000;

export interface ProbeResult {
  readonly reason: string;
  /** Whether the probe has failed; else it could not be run. */
  readonly hasFailed: boolean;
}

export interface Probing {
  readonly prober?: OperationDeps['prober'];
  readonly clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly signal: AbortSignal;
}

/** Throws `rollout-refused` if a probe can never be run. */
export async function requireProbes(
  { prober }: Pick<OperationDeps, 'prober'>,
  texts: readonly string[],
  { name, cluster }: PoolRecord,
): Promise<void> {
  for (const text of texts) {
    const probe = parseProbe(text);
    if (probe.kind === 'condition' && cluster === undefined)
      throw refused(`Probe \`${text}\` needs a cluster, and pool ${name} belongs to none.`);
    if (probe.kind === 'command' && (await prober?.has(probe.program)) !== true)
      throw refused(
        `The daemon has no executable file ${probe.program} in the directory \`probes\` of its state directory.`,
      );
  }
}

function refused(message: string): ImagoError {
  return new ImagoError('rollout-refused', message, { hint: 'Change the probes of the rollout.' });
}

/** Returns the nodes on which a probe does not hold, with the first such probe. */
export async function probeNodes(
  run: Probing,
  texts: readonly string[],
  nodes: readonly { readonly node: ProviderNode; readonly object: KubeNode | undefined }[],
): Promise<ReadonlyMap<string, ProbeResult>> {
  const probes = texts.map((text) => ({ text, probe: parseProbe(text) }));
  // A probe that does not depend on the node is run once.
  const shared = new Map<string, Promise<ProbeResult | undefined>>();
  const results = await inBatches(nodes, async ({ node, object }) => {
    for (const { text, probe } of probes) {
      const key = probe.kind === 'condition' ? undefined : fillIn(text, node);
      const known = key === undefined ? undefined : shared.get(key);
      const asked = known ?? probeOne(run, probe, node, object);
      if (key !== undefined) shared.set(key, asked);
      const result = await asked;
      if (result !== undefined)
        return [[node.name, { ...result, reason: `probe \`${text}\`: ${result.reason}` }] as const];
    }
    return [];
  });
  return new Map(results.flat());
}

async function probeOne(
  run: Probing,
  probe: Probe,
  node: ProviderNode,
  object: KubeNode | undefined,
): Promise<ProbeResult | undefined> {
  let result: ProbeResult | undefined;
  // The cluster was read once, for all nodes.
  const attempts = probe.kind === 'condition' ? 1 : tries;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (attempt > 1) await run.clock.sleep(againMs, run.signal);
    try {
      const reason = await ask(run, probe, node, object);
      if (reason === undefined) return undefined;
      result = { reason, hasFailed: true };
    } catch (thrown) {
      run.signal.throwIfAborted();
      result = { reason: ensureImagoError(thrown).message, hasFailed: probe.kind === 'http' };
    }
  }
  return result;
}

/** Returns why it fails. Throws if it cannot be run; an address that does not answer is a failure of `http`. */
async function ask(
  { prober, signal }: Probing,
  probe: Probe,
  node: ProviderNode,
  object: KubeNode | undefined,
): Promise<string | undefined> {
  if (probe.kind === 'condition') {
    const found = object?.status?.conditions?.find(({ type }) => type === probe.type)?.status;
    return found === probe.status ? undefined : `it is ${found ?? 'not reported'}`;
  }
  if (prober === undefined) throw new ImagoError('provider-lacks', 'This daemon runs no probes.');
  const limited = AbortSignal.any([signal, AbortSignal.timeout(probeMs)]);
  const fill = (text: string) => {
    const filled = fillIn(text, node);
    if (filled !== undefined) return filled;
    throw new ImagoError('node-not-reported', `node ${node.name} has no address`);
  };
  switch (probe.kind) {
    case 'http': {
      const status = await prober.status(fill(probe.url), limited);
      return status >= 200 && status < 300 ? undefined : `HTTP ${status}`;
    }
    case 'command': {
      const { exitCode, firstLine } = await prober.run(probe.program, probe.args.map(fill), limited);
      return exitCode === 0 ? undefined : `exit ${exitCode}: ${firstLine}`;
    }
    default: {
      const query = encodeURIComponent(fill(probe.query));
      return judgeQuery(await prober.read(`${fill(probe.server)}/api/v1/query?query=${query}`, limited));
    }
  }
}
