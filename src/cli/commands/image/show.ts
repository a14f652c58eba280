// Shows a version with its support dates, signatures, and evidence.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { describeFreshness, newestFreshness } from '../../../domain/evidence/freshness.ts';
import { describeCommit } from '../../../domain/image/recipe-commit.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { referenceArgument } from '../../input/find-version.ts';
import { describeSignatures, describeSupport } from '../../output/describe.ts';
import { keyValueLines } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'A signature is valid if a trusted key made it within its validity period: see `imago keys list`. Support ends at the earliest date that applies to the version: see `imago support list`.',
  args: [referenceArgument],
  examples: [['imago image show node:production', 'Show the version in production']],
  async run(invocation) {
    const client = await invocation.client();
    const found = await client.call('resolve', { query: { reference: argument(invocation, 'IMAGE') } });
    const path = { image: found.image, version: found.version };
    const subject = `version/${found.image}:${found.version}`;
    const [version, evidence, composed, signatures, problems] = await Promise.all([
      client.call('showVersion', { path }),
      client.call('listEvidence', { path }),
      client.call('listComposed', { path }),
      client.call('listSignatures', { path }),
      client.call('listProblems', { query: { subject } }),
    ]);
    const [latest] = composed.items;
    const freshness = newestFreshness(version.digest, evidence.items)?.found;
    invocation.out.thing(
      {
        ...version,
        evidence: evidence.items,
        composed: composed.items,
        signatures: signatures.items,
        problems: problems.items,
      },
      `${version.image}:${version.version}`,
      () => [
        ...keyValueLines({
          image: version.image,
          version: version.version,
          state: version.state,
          reason: version.reason,
          digest: version.digest,
          disk: version.diskDigest,
          restricted:
            (version.restricted || undefined) && 'yes: it has private inputs, and is never published',
          simulated: version.simulated && 'yes: it has no disk, and never becomes real',
          size: formatBytes(version.sizeBytes),
          kubernetes: version.kubernetes,
          support: version.support && describeSupport(version.support),
          origin: version.origin.kind,
          recipe: recipeOf(version.origin),
          operation: version.operation,
          created: version.createdAt,
          packages: freshness && describeFreshness(freshness, Date.now()),
          environment: latest && describeEnvironment(latest),
        }),
        ...problems.items.map(({ id, message }) => `! problem ${id}: ${message}`),
        ...describeSignatures(signatures.items),
        ...evidence.items
          .filter(({ kind }) => kind !== 'freshness')
          .map((item) => `${item.passed ? '✓' : '✗'} ${item.kind}: ${item.summary} (${item.by}, ${item.at})`),
      ],
    );
  },
};

function recipeOf(origin: ResponseOf<'showVersion'>['origin']): string | undefined {
  if (origin.kind !== 'built' || origin.source === undefined) return undefined;
  return `at ${describeCommit(origin.source)}`;
}

type Environment = ResponseOf<'listComposed'>['items'][number];

/** Describes the environment of the latest test, with the id that identifies it. */
function describeEnvironment({
  id,
  imago,
  recipeDigest,
  lockDigest,
  agent,
  nodeConfig,
  kubernetes,
}: Environment): string {
  const parts = [
    `Imago ${imago}`,
    recipeDigest === undefined ? undefined : `recipe ${recipeDigest}`,
    lockDigest === undefined ? undefined : `lock ${lockDigest}`,
    agent === undefined ? undefined : `agent ${agent}`,
    nodeConfig === undefined ? undefined : `node config ${nodeConfig.schemaVersion} (${nodeConfig.digest})`,
    kubernetes === undefined ? undefined : `Kubernetes ${kubernetes}`,
  ];
  return `${id} (${parts.filter((part) => part !== undefined).join(', ')})`;
}
