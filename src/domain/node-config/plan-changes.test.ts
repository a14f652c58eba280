// A change of config is a list that people can read, each with what it costs.
import { describe, expect, it } from 'vitest';
import { absorbedHotfixes, withHotfix } from './hotfix.ts';
import { highestCost, planChanges } from './plan-changes.ts';
import type { NodeConfig } from './schema.ts';

function changes(before: object, after: object): readonly string[] {
  const config = (fields: object) => ({ schemaVersion: 1, ...fields }) as NodeConfig;
  return planChanges(config(before), config(after)).map(({ sentence, cost }) => `${sentence} (${cost})`);
}

const cluster = { apiServer: 'https://a.example.com', ca: 'PEM' };

describe('a change', () => {
  it.each([
    [{}, { kubelet: { maxPods: 110 } }, ['kubelet.maxPods is set to 110 (restart)']],
    [{ kubelet: { maxPods: 110 } }, {}, ['kubelet.maxPods is taken away (restart)']],
    [
      { kubelet: { cpuManagerPolicy: 'none' } },
      { kubelet: { cpuManagerPolicy: 'static' } },
      ['kubelet.cpuManagerPolicy changes from "none" to "static" (drain)'],
    ],
    [
      {},
      { system: { sysctl: { 'vm.swappiness': 1 } } },
      ['system.sysctl["vm.swappiness"] is set to 1 (live)'],
    ],
    [{ system: { sysctl: { 'vm.swappiness': 1 } } }, { system: { sysctl: { 'vm.swappiness': '1' } } }, []],
    [{}, { runtime: { cgroupDriver: 'systemd' } }, []],
    [{}, { users: [], files: [], network: { metadataForPods: 'closed' } }, []],
    [{ node: { name: 'a' } }, { node: { name: 'b' } }, ['node.name changes from "a" to "b" (reimage)']],
    [{ kubernetes: cluster }, {}, ['kubernetes is removed (reimage)']],
    [
      { node: { labels: { 'example.com/team': 'a' } } },
      { node: { pool: 'web', labels: { 'example.com/team': 'b' } } },
      [
        'node.pool is set to "web" (drain)',
        'node.labels["example.com/team"] changes from "a" to "b" (drain)',
      ],
    ],
    [
      { system: { modules: [{ name: 'a' }] } },
      { system: { modules: [{ name: 'a', options: 'x=1' }] } },
      ['system.modules.a.options is set to "x=1" (drain)'],
    ],
    [{ requires: ['cni'] }, {}, []],
  ])('from %j to %j', (before, after, expected) => {
    expect(changes(before, after)).toEqual(expected);
  });

  it('of a secret or of content says that it changes, and nothing more', () => {
    const token = (value: string) => ({ kubernetes: { ...cluster, bootstrap: { token: value } } });
    expect(changes(token('aaaaaa.aaaaaaaaaaaaaaaa'), token('bbbbbb.bbbbbbbbbbbbbbbb'))).toEqual([
      'kubernetes.bootstrap.token changes (live)',
    ]);
    const file = (content: string) => ({ files: [{ path: '/etc/a', content }] });
    expect(changes(file('password=1'), file('password=2'))).toEqual([
      'files["/etc/a"].content changes (live)',
    ]);
  });

  it('of an entry costs what its author says, the dearer of before and after', () => {
    const file = (content: string, cost?: string) => ({ files: [{ path: '/etc/a', content, cost }] });
    expect(changes(file('1', 'drain'), file('2', 'live'))).toEqual([
      'files["/etc/a"].content changes (drain)',
    ]);
    expect(changes({}, file('1', 'restart'))).toEqual(['files["/etc/a"] is added (restart)']);
    expect(changes(file('1', 'drain'), {})).toEqual(['files["/etc/a"] is removed (drain)']);
    expect(changes(file('1', 'drain'), file('1', 'live'))).toEqual([]);
  });

  it('of the order of entries is none', () => {
    const [a, b] = [{ name: 'a' }, { name: 'b' }];
    expect(changes({ users: [a, b] }, { users: [b, a] })).toEqual([]);
  });

  it('on a node that has no config yet costs nothing', () => {
    const wanted = { schemaVersion: 1, node: { name: 'a' }, kubernetes: cluster } as NodeConfig;
    expect(highestCost(planChanges(undefined, wanted))).toBe('live');
  });
});

describe('a hotfix', () => {
  const runc = {
    component: 'runc',
    version: '1.3.4',
    source: 'https://files.example.com/runc',
    sha256: 'a'.repeat(64),
  };
  const config: NodeConfig = { schemaVersion: 1 };

  it('replaces an earlier one of its component and leaves the others', () => {
    const both = withHotfix(withHotfix(config, runc), { ...runc, component: 'crictl' });
    const newer = withHotfix(both, { ...runc, version: '1.3.5' });
    expect(newer.hotfixes?.map(({ component, version }) => `${component} ${version}`)).toEqual([
      'crictl 1.3.4',
      'runc 1.3.5',
    ]);
  });

  it('is absorbed by the same version with the same content, not by a newer one', () => {
    const has = (version: string, sha256?: string) => [
      { name: 'runc', version, ...(sha256 === undefined ? {} : { sha256 }) },
    ];
    expect(absorbedHotfixes([runc], has('1.3.4', runc.sha256))).toEqual([runc]);
    expect(absorbedHotfixes([runc], has('1.3.4'))).toEqual([runc]);
    expect(absorbedHotfixes([runc], has('1.3.4', 'b'.repeat(64)))).toEqual([]);
    expect(absorbedHotfixes([runc], has('1.3.5', runc.sha256))).toEqual([]);
  });
});
