// Release notes list the hotfixes that a version has absorbed, and no others.
import { describe, expect, it } from 'vitest';
import type { Lock } from '../../domain/lock/lock.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import { hotfixesAbsorbedBy } from './absorbed-hotfixes.ts';

const sha = (digit: string) => digit.repeat(64);

function hotfix(component: string, version: string, digit: string): object {
  return { component, version, source: `https://files.example.com/${component}`, sha256: sha(digit) };
}

function pool(image: string, nodeConfig: string): PoolRecord {
  return { name: image, image, nodeConfig } as PoolRecord;
}

function deps(pools: readonly PoolRecord[]) {
  return { fleet: { listPools: async () => ({ items: pools }) } } as unknown as Parameters<
    typeof hotfixesAbsorbedBy
  >[0];
}

function lock(...inputs: readonly (readonly [string, string, string])[]): Pick<Lock, 'inputs'> {
  return {
    inputs: inputs.map(([name, version, digit]) => ({ name, version, sha256: sha(digit) })),
  } as unknown as Lock;
}

const config = JSON.stringify({
  schemaVersion: 1,
  hotfixes: [hotfix('crictl', '1.34.0', 'c'), hotfix('runc', '1.3.4', 'a')],
});

describe('the hotfixes that a version has absorbed', () => {
  it('are those that it has in the same version and content', async () => {
    const has = lock(['runc', '1.3.4', 'a'], ['crictl', '1.34.1', 'd']);
    expect(await hotfixesAbsorbedBy(deps([pool('node', config)]), 'node', has, undefined)).toEqual([
      { name: 'runc', version: '1.3.4' },
    ]);
  });

  it('are none when the content differs', async () => {
    const has = lock(['runc', '1.3.4', 'f']);
    expect(await hotfixesAbsorbedBy(deps([pool('node', config)]), 'node', has, undefined)).toEqual([]);
  });

  it('are reported once, however many pools have them, and only for pools of the image', async () => {
    const has = lock(['runc', '1.3.4', 'a']);
    const two = deps([pool('node', config), pool('node', config)]);
    expect(await hotfixesAbsorbedBy(two, 'node', has, undefined)).toHaveLength(1);
    expect(await hotfixesAbsorbedBy(deps([pool('other', config)]), 'node', has, undefined)).toEqual([]);
  });

  it('are not reported again if the previous version had them', async () => {
    const has = lock(['runc', '1.3.4', 'a'], ['crictl', '1.34.0', 'c']);
    const before = lock(['runc', '1.3.4', 'a']);
    expect(await hotfixesAbsorbedBy(deps([pool('node', config)]), 'node', has, before)).toEqual([
      { name: 'crictl', version: '1.34.0' },
    ]);
  });

  it('are empty if a pool has an invalid config', async () => {
    expect(await hotfixesAbsorbedBy(deps([pool('node', 'a: b')]), 'node', lock(), undefined)).toEqual([]);
  });
});
