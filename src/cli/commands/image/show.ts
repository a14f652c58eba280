// One version with its support, signatures and evidence.
import type { AnswerOf } from '../../../api/contract/types.ts';
import { describeCommit } from '../../../domain/image/recipe-commit.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { describeSupport } from '../../output/describe-support.ts';
import { describeSignatures } from '../../output/signatures.ts';
import { facts } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show one version with its support, signatures and evidence',
  details:
    'A signature counts when a key that is trusted here made it in its time: see `imago keys list`. Support ends with the earliest date that concerns the version: see `imago support list`.',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  examples: [['imago image show node:production', 'what production is now']],
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
    const [unit] = composed.items;
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
        ...facts({
          image: version.image,
          version: version.version,
          state: version.state,
          reason: version.reason,
          digest: version.digest,
          disk: version.diskDigest,
          restricted: version.restricted && 'yes: it has private inputs, and never becomes public',
          simulated: version.simulated && 'yes: there is no disk, and it never becomes real',
          size: formatBytes(version.sizeBytes),
          kubernetes: version.kubernetes,
          support: version.support && describeSupport(version.support),
          origin: version.origin.kind,
          recipe: recipeOf(version.origin),
          operation: version.operation,
          created: version.createdAt,
          unit: unit && describeUnit(unit),
        }),
        ...problems.items.map(({ id, message }) => `! problem ${id}: ${message}`),
        ...describeSignatures(signatures.items),
        ...evidence.items.map(
          (item) => `${item.passed ? '✓' : '✗'} ${item.kind}: ${item.summary} (${item.by}, ${item.at})`,
        ),
      ],
    );
  },
};

function recipeOf(origin: AnswerOf<'showVersion'>['origin']): string | undefined {
  if (origin.kind !== 'built' || origin.source === undefined) return undefined;
  return `at ${describeCommit(origin.source)}`;
}

type Unit = AnswerOf<'listComposed'>['items'][number];

/** What it was tested together with, and the id by which two can be compared. */
function describeUnit({ id, imago, recipeDigest, lockDigest, agent, nodeConfig, kubernetes }: Unit): string {
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
