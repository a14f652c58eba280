import { expect, test } from 'vitest';
import { createOutput } from '../../output/output.ts';
import { command } from './resolve.ts';

const withdrawn = {
  ...{ reference: 'node:1.34.2', image: 'node', version: '1.34.2', digest: 'sha256:ab', state: 'withdrawn' },
  ...{ reason: 'kubelet crashes', nearest: ['1.34.1', '1.35.0'] },
};

async function resolve(found: object, flags: object = {}): Promise<string> {
  let shown = '';
  const out = { write: (text: string) => (shown += text), isTTY: false };
  await command.run({
    ...{ args: { IMAGE: 'node:1.34.2' }, flags },
    client: async () => ({ call: async () => found }),
    out: createOutput('table', false, { out, err: out, env: {} }),
  } as never);
  return shown;
}

test('resolves a withdrawn version, with the reason and the nearest versions', async () => {
  const shown = await resolve(withdrawn);
  expect(shown).toMatch(/state +withdrawn/);
  expect(shown).toMatch(/reason +kubelet crashes/);
  expect(shown).toMatch(/nearest +1\.34\.1, 1\.35\.0/);
  expect(await resolve({ ...withdrawn, nearest: [] })).toMatch(/nearest +none is usable/);
});

test('with --usable it is refused, by the exit code that refusals have', async () => {
  await expect(resolve(withdrawn, { usable: true })).rejects.toMatchObject({
    ...{ code: 'version-withdrawn', exitCode: 4, message: 'node:1.34.2 is withdrawn: kubelet crashes' },
    hint: 'The nearest usable versions: `node:1.34.1` or `node:1.35.0`.',
  });
  const { reason: _reason, nearest: _nearest, ...usable } = { ...withdrawn, state: 'available' };
  expect(await resolve(usable, { usable: true })).not.toContain('nearest');
});
