// One version with its evidence.
import { formatBytes } from '../../domain/bytes.ts';
import { argument, type CommandSpec } from '../command.ts';
import { facts } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Show one version with its evidence',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  examples: [['imago image show node:production', 'what production is now']],
  async run(invocation) {
    const client = await invocation.client();
    const found = await client.call('resolve', { query: { reference: argument(invocation, 'IMAGE') } });
    const path = { image: found.image, version: found.version };
    const [version, evidence] = await Promise.all([
      client.call('showVersion', { path }),
      client.call('listEvidence', { path }),
    ]);
    invocation.out.thing(
      { ...version, evidence: evidence.items },
      `${version.image}:${version.version}`,
      () => [
        ...facts({
          image: version.image,
          version: version.version,
          state: version.state,
          reason: version.reason,
          digest: version.digest,
          disk: version.diskDigest,
          size: formatBytes(version.sizeBytes),
          kubernetes: version.kubernetes,
          origin: version.origin.kind,
          operation: version.operation,
          created: version.createdAt,
        }),
        ...evidence.items.map(
          (item) => `${item.passed ? '✓' : '✗'} ${item.kind}: ${item.summary} (${item.by}, ${item.at})`,
        ),
      ],
    );
  },
};
