import { expect, test } from 'vitest';
import { createOutput } from '../../output/output.ts';
import { command } from './show.ts';

test('shows the environment of the latest test: its id, and every known part', async () => {
  let shown = '';
  const out = { write: (text: string) => (shown += text), isTTY: false };
  const version = {
    ...{ image: 'node', version: '1.34.2', state: 'available', digest: 'sha256:d', diskDigest: 'sha256:k' },
    ...{ sizeBytes: 1, origin: { kind: 'built' }, operation: 'op', createdAt: '2026-03-03' },
  };
  const unit = {
    ...{ id: 'sha256:1d', imago: '1.2.3', recipeDigest: 'sha256:5e', lockDigest: 'sha256:10c' },
    ...{ agent: '4.5.6', nodeConfig: { schemaVersion: 1, digest: 'sha256:c0' }, kubernetes: '1.34.2' },
  };
  const answers: Record<string, unknown> = {
    resolve: { image: 'node', version: '1.34.2' },
    showVersion: version,
    listComposed: { items: [unit] },
  };
  await command.run({
    ...{ args: { IMAGE: 'node:1.34.2' }, flags: {} },
    client: async () => ({ call: async (name: string) => answers[name] ?? { items: [] } }),
    out: createOutput('table', false, { out, err: out, env: {} }),
  } as never);
  expect(shown.split('\n').find((text) => text.startsWith('environment'))).toMatch(
    /^environment +sha256:1d \(Imago 1\.2\.3, recipe sha256:5e, lock sha256:10c, agent 4\.5\.6, node config 1 \(sha256:c0\), Kubernetes 1\.34\.2\)$/,
  );
});
