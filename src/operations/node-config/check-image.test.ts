import { describe, expect, it } from 'vitest';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { OperationDeps } from '../common/deps.ts';
import { requireImageAbilities } from './check-image.ts';

const version = { image: 'node', version: '1.0.0', digest: `sha256:${'a'.repeat(64)}` };

function depsWith(inventory: object | undefined): OperationDeps {
  const read = async () => (inventory === undefined ? undefined : JSON.stringify(inventory));
  return { images: { records: { read } } as unknown as ImageStore } as unknown as OperationDeps;
}

const agent = { abilities: ['files', 'hotfixes'], components: { kubelet: ['1.34.2'] } };
const check = (inventory: object | undefined, config: object) =>
  requireImageAbilities(depsWith(inventory), version, { schemaVersion: 1, ...config });

describe('a config that an image cannot apply', () => {
  it('is refused before it is sent, with the image and all that it lacks', async () => {
    const wanted = { system: { swapMiB: 64 }, requires: ['component:kubelet=1.35.0', 'flying'] };
    await expect(check({ agent }, wanted)).rejects.toMatchObject({
      code: 'node-config-requires',
      message: 'The config requires component:kubelet=1.35.0, flying, swap, which node:1.0.0 does not have.',
    });
  });

  it('is let through when the image has everything', async () => {
    const wanted = { files: [{ path: '/a', content: 'x' }], requires: ['component:kubelet=1.34.2'] };
    await expect(check({ agent }, wanted)).resolves.toBeUndefined();
  });

  it('is left to the agent if the disk could not be read', async () => {
    const wanted = { requires: ['flying'] };
    await expect(check(undefined, wanted)).resolves.toBeUndefined();
    await expect(check({ files: [] }, wanted)).resolves.toBeUndefined();
    const hiding = { ...agent, hidesComponents: true };
    await expect(check({ agent: hiding }, { requires: ['component:secret=1'] })).resolves.toBeUndefined();
  });
});
