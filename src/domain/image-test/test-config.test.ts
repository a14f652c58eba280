// The config that an image is tested with asks for everything that the image has.
import { describe, expect, it } from 'vitest';
import { agentAbilities } from '../node-config/capabilities.ts';
import { nodeRules, readNodeConfig } from '../node-config/read-node-config.ts';
import type { DiskFacts } from './image-check.ts';
import { secretTexts, testConfig } from './test-config.ts';

function diskWith(unit: string, state = 'enabled', abilities = agentAbilities().abilities): DiskFacts {
  return {
    ...{ release: {}, kernel: { version: '', installed: [] }, sizes: { diskBytes: 0, fileBytes: 0 } },
    ...{ packages: [], files: [], units: [{ name: unit, state }], containerImages: [] },
    settings: { sysctl: {}, modules: [], kernelArguments: [], users: [] },
    agent: { abilities, components: {} },
  };
}

const configOf = (disk?: DiskFacts) => readNodeConfig(testConfig(disk), nodeRules).config;

describe('an image is tested', () => {
  it('with its kubelet, which gets a token for a cluster that nobody can reach', () => {
    const { kubelet, kubernetes } = configOf(diskWith('kubelet.service'));
    expect(kubelet).toEqual({});
    expect(kubernetes).toMatchObject({ apiServer: 'https://127.0.0.1:1', bootstrap: {} });
  });

  it.each([
    ['it has none', diskWith('containerd.service')],
    ['its own is masked', diskWith('kubelet.service', 'masked')],
    ['nobody looked into its disk', undefined],
  ])('without a kubelet when %s', (_, disk) => {
    expect(configOf(disk).kubelet).toBeUndefined();
    expect(configOf(disk).kubernetes).toBeUndefined();
  });

  it('with nothing that its agent does not know', () => {
    const config = configOf(diskWith('kubelet.service', 'enabled', ['kubelet']));
    expect(config).toEqual({ schemaVersion: 1, kubelet: {} });
    expect(configOf()).toEqual({ schemaVersion: 1 });
  });

  it('with the same text each time: its digest is recorded', () => {
    expect(testConfig(diskWith('kubelet.service'))).toBe(testConfig(diskWith('kubelet.service')));
  });
});

describe('what only the node may know', () => {
  it.each([
    ['with a kubelet', 'kubelet.service', 2],
    ['without one', 'containerd.service', 1],
  ])('is in the config of an image %s', (_, unit, count) => {
    const config = testConfig(diskWith(unit));
    const texts = secretTexts(config);
    expect(texts).toHaveLength(count);
    for (const text of texts) expect(config).toContain(text);
  });

  it('is no file that everybody may read, and nothing of a config that no node takes', () => {
    const files = [{ path: '/etc/motd', content: 'welcome to this node\n' }];
    expect(secretTexts(JSON.stringify({ schemaVersion: 1, files }))).toEqual([]);
    expect(secretTexts('{"schemaVersion": 99}')).toEqual([]);
    expect(secretTexts('no JSON')).toEqual([]);
  });
});
