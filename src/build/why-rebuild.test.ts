import { expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../test/support/inventory.ts';
import { whyRebuild } from './why-rebuild.ts';

function lockOf(name: string, version: string, forward = 1) {
  const hush = { name, version, from: { file: `${name}-file` }, to: `/opt/${name}`, private: true as const };
  const tool = { name: 'tool', version: '1', from: { file: 'tool' }, to: '/usr/bin/tool' };
  return sampleLock({ components: [hush, tool], settings: { sysctl: { 'net.ipv4.ip_forward': forward } } }, [
    sampleInput('binary', name, { version, private: true, sha256: version.repeat(64).slice(0, 64) }),
    sampleInput('binary', 'tool', { version: '1' }),
  ]);
}

const empty = { find: async () => undefined, take: () => Promise.reject(new Error('nothing is made')) };

test('what changed about a private component is redacted, and so are its names', async () => {
  const verdicts = await whyRebuild(lockOf('hush', '2', 0), lockOf('whisper', '1'), empty);
  expect(JSON.stringify(verdicts)).not.toMatch(/hush|whisper/);
  expect(verdicts.map(({ name }) => name)).toEqual([
    'base',
    'component private-1',
    'component tool',
    'configuration',
  ]);
  expect(verdicts[1]?.changes).toEqual([{ input: 'private input', before: '(private)', after: '(private)' }]);
  expect(verdicts[3]?.changes).toContainEqual({
    input: 'settings.sysctl.net.ipv4.ip_forward',
    before: '1',
    after: '0',
  });
});

test('a private component that is as it was is a layer like any other', async () => {
  const [, secret] = await whyRebuild(lockOf('hush', '1'), lockOf('hush', '1'), empty);
  expect(secret).toEqual({ name: 'component private-1', state: 'miss', changes: [] });
});
