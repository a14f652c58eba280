import { describe, expect, it } from 'vitest';
import { interfaceFacts, machineCards } from '../network/plan.ts';
import { qemuArguments } from './command.ts';
import type { HostMachine } from './machine-host.ts';
import { machineFiles, machineSockets } from './paths.ts';

function plan(change: Partial<HostMachine> = {}, accelerator: 'kvm' | 'tcg' = 'tcg') {
  const spec: HostMachine = {
    ...{ id: 'one', folder: "/m/it's, one", disk: '/m/a,b.qcow2', cpus: 2, memoryMb: 512 },
    boot: { kind: 'direct', kernel: '/k', initrd: '/i', cmdline: 'quiet, a=b,c' },
    network: { pool: 'blue', forwards: [] },
    metadata: {
      ...{ machineId: 'id-1', name: 'one', size: 's', region: 'r', userData: '', tags: {} },
      image: { gallery: 'g', image: 'i', version: '1.0.0', digest: 'd' },
    },
    ...change,
  };
  const place =
    spec.network.pool === undefined ? undefined : { number: 300, group: '239.1.2.3', port: 20_001 };
  return qemuArguments({
    ...{ spec, accelerator, sockets: machineSockets('/s', 'one'), files: machineFiles(spec.folder) },
    cards: machineCards('id-1', place),
    forwards: [{ guestPort: 22, hostPort: 2222 }],
    firmware: { code: '/code,x', variables: '/vars' },
  });
}

const valuesOf = (args: readonly string[], flag: string) =>
  args.flatMap((word, index) => (args[index - 1] === flag ? [word] : []));

describe('the arguments of QEMU', () => {
  it('keep commas and quotes of paths apart from its own', () => {
    const args = plan();
    expect(valuesOf(args, '-blockdev')[0]).toContain('file.filename=/m/a,,b.qcow2');
    expect(valuesOf(args, '-chardev').join()).toContain("path=/m/it's,, one/console.log,append=on");
    expect(valuesOf(args, '-netdev')[1]).toContain("cmd:/bin/sh '/m/it'\\''s,, one/relay.sh' imds");
    expect(valuesOf(args, '-append')).toEqual(['quiet, a=b,c no_timer_check']);
    expect(valuesOf(plan({}, 'kvm'), '-append')).toEqual(['quiet, a=b,c']);
  });

  it('give each machine its own two services, and only the pool a network with others', () => {
    const [main, metadata, pool] = valuesOf(plan(), '-netdev');
    expect(main).toContain('guestfwd=tcp:168.63.129.16:80-cmd:');
    expect(main).toContain('hostfwd=tcp:127.0.0.1:2222-:22');
    expect(metadata).toContain('restrict=on');
    expect(pool).toBe('socket,id=pool,mcast=239.1.2.3:20001,localaddr=127.0.0.1');
    expect(valuesOf(plan({ network: { forwards: [] } }), '-netdev')).toHaveLength(2);
  });

  it('hold a machine still whose disk cannot be written, whatever the reason', () => {
    expect(valuesOf(plan(), '-device').find((device) => device.startsWith('virtio-blk-pci'))).toMatch(
      /,werror=stop$/,
    );
  });

  it('start by firmware without a kernel, and use the processor when there is a hypervisor', () => {
    const uefi = plan({ boot: { kind: 'uefi' } }, 'kvm');
    expect(uefi).not.toContain('-kernel');
    expect(valuesOf(uefi, '-drive')[0]).toBe('if=pflash,format=raw,readonly=on,file=/code,,x');
    expect([valuesOf(uefi, '-accel'), valuesOf(uefi, '-cpu')]).toEqual([['kvm'], ['host']]);
  });
});

describe('the cards of a machine', () => {
  it('are its own, stay the same, and the one in the pool is told first', () => {
    const place = { number: 300, group: '239.1.2.3', port: 20_001 };
    const cards = machineCards('id-1', place);
    expect(machineCards('id-1', place)).toEqual(cards);
    const macs = [cards.main, cards.metadata, cards.pool?.mac, machineCards('id-2', place).main];
    expect(new Set(macs).size).toBe(4);
    for (const mac of macs) expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
    expect(interfaceFacts(cards).map(({ address }) => address)).toEqual(['198.18.1.44', '168.63.129.100']);
  });
});

it('refuses a folder whose sockets nobody could bind', () => {
  expect(() => machineSockets(`/${'x'.repeat(90)}`, 'one')).toThrow(/too long a path/);
});
