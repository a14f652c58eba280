import { expect, it } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import { makeProvenance } from './provenance.ts';

const input = {
  image: 'node',
  version: '1.34.2',
  lock: sampleLock({}, [
    sampleInput('binary', 'kubelet'),
    sampleInput('package', 'runc', { sets: ['packages'] }),
  ]),
  tool: '0.1.0',
  toolVersions: { mke2fs: '1.47.2' },
  operation: 'op-1',
  startedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:01:00.000Z',
  diskSha256: 'e'.repeat(64),
};

it('names every input with its hash, the tools and the times', () => {
  expect(makeProvenance(input)).toMatchObject({
    buildDefinition: {
      buildType: 'urn:imago:build:assemble:v1',
      externalParameters: { image: 'node', lock: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      internalParameters: { tools: { mke2fs: '1.47.2' }, restricted: false },
      resolvedDependencies: [
        { name: 'kubelet', uri: 'https://downloads.example.com/kubelet', digest: { sha256: 'f'.repeat(64) } },
        { name: 'runc', annotations: { kind: 'package', version: '1.0.0' } },
      ],
    },
    runDetails: { metadata: { invocationId: 'op-1', finishedOn: '2026-01-01T00:01:00.000Z' } },
  });
});

it('names the commit of the recipe, and says when that is not all', () => {
  const source = { commit: 'a'.repeat(40), dirty: true };
  expect(makeProvenance({ ...input, source })).toMatchObject({
    buildDefinition: { externalParameters: { recipe: { gitCommit: source.commit, dirty: true } } },
  });
  expect(JSON.stringify(makeProvenance(input))).not.toContain('gitCommit');
});

it('is the same for the same build, and another for another lock', () => {
  const text = (value: typeof input) => JSON.stringify(makeProvenance(value));
  expect(text(input)).toBe(text({ ...input }));
  expect(text({ ...input, lock: { ...input.lock, epoch: 1 } })).not.toBe(text(input));
});
