import { expect, it } from 'vitest';
import type { HostMachine } from '../qemu/machine-host.ts';
import { createMachineNetwork, type NetworkMember } from './machine-network.ts';

function spec(id: string, pool: string): HostMachine {
  return {
    ...{ id, folder: '/m', disk: '/d', boot: { kind: 'bios' }, cpus: 1, memoryMb: 64 },
    network: { pool, forwards: [] },
    metadata: {
      ...{ machineId: id, name: id, size: 's', region: 'r', userData: '', tags: {} },
      image: { gallery: 'g', image: 'i', version: '1.0.0', digest: 'd' },
    },
  };
}

it('gives machines of a pool different places, which they keep even while they are stopped', () => {
  const members = new Map<string, NetworkMember>();
  const networks = createMachineNetwork('/s', members);
  const add = (id: string, pool: string) => {
    const place = networks.place(id, pool);
    if (place === undefined) throw new Error('no place');
    const record = { ...{ format: 1 as const, startedAt: '', computerBoot: '', forwards: [] }, place };
    members.set(id, { record: { ...record, spec: spec(id, pool) }, state: 'stopped' });
    return place;
  };
  expect(['a', 'b', 'c'].map((id) => add(id, 'blue').number)).toEqual([10, 11, 12]);
  expect(add('b', 'blue').number).toBe(11);
  members.delete('a');
  expect(add('d', 'blue').number).toBe(10);
  expect(add('e', 'red')).toMatchObject({ number: 10 });
  expect(networks.place('alone', undefined)).toBeUndefined();
});
