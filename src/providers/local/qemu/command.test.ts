import { describe, expect, it } from 'vitest';
import { interfaceFacts, machineCards } from '../network/plan.ts';
import { qemuArguments } from './command.ts';
import type { HostMachine } from './machine-host.ts';
import { machineFiles, machineSockets } from './paths.ts';

function plan(change: Partial<HostMachine> = {}, accelerator: 'kvm' | 'tcg' = 'tcg', guarded = true) {
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
  const place = spec.network.pool === undefined ? undefined : { number: 300 };
  return qemuArguments({
    ...{ spec, accelerator, sockets: machineSockets('/s', 'one'), files: machineFiles(spec.folder) },
    cards: machineCards('id-1', place),
    forwards: [{ guestPort: 22, hostPort: 2222 }],
    guarded,
    firmware: { code: '/code,x', variables: '/vars' },
  });
}

const valuesOf = (args: readonly string[], flag: string) =>
  args.flatMap((word, index) => (args[index - 1] === flag ? [word] : []));

describe('the arguments of QEMU', () => {
  it('has its options at the same positions regardless of names and paths', () => {
    const options = (args: readonly string[]) => args.map((word) => (word.startsWith('-') ? word : ''));
    for (const hostile of ['-monitor', 'a,b=c', '--', ',if=none,file=/etc/shadow', '-device x']) {
      const args = plan({ id: hostile, folder: `/m/${hostile}`, disk: `/d/${hostile}` });
      expect(options(args)).toEqual(options(plan()));
      expect(valuesOf(args, '-blockdev')[0]).not.toMatch(/(?<!,),if=none/);
    }
  });

  it('keep commas and quotes of paths apart from its own', () => {
    const args = plan();
    expect(valuesOf(args, '-blockdev')[0]).toContain('file.filename=/m/a,,b.qcow2');
    expect(valuesOf(args, '-append')).toEqual(['quiet, a=b,c no_timer_check']);
    expect(valuesOf(plan({}, 'kvm'), '-append')).toEqual(['quiet, a=b,c']);
  });

  it('give a machine of a build a command port from its firmware, and other machines none', () => {
    const built = valuesOf(plan({ build: true }), '-smbios');
    expect(built[0]).toContain(',serial=ds=nocloud;i=one;h=one');
    const keys = built.slice(1).map((text) => /credential\.binary:([^=]+)=[A-Za-z0-9+/]+=*$/.exec(text)?.[1]);
    expect(keys).toContain('systemd.extra-unit.imago-build-commands.service');
    expect(keys).not.toContain(undefined);
    expect(valuesOf(plan(), '-smbios')).toHaveLength(1);
    expect(valuesOf(plan(), '-smbios')[0]).not.toContain('serial');
  });

  it('name files in the directory of the machine by relative names, since another user cannot enter the parent directories', () => {
    const folder = "/m/it's, one";
    const args = plan({ disk: `${folder}/a,b.qcow2`, backing: '/i,j.raw', boot: { kind: 'uefi' } });
    expect(args.join(' ')).not.toContain("it's");
    expect(valuesOf(args, '-blockdev')[0]).toBe(
      'driver=qcow2,node-name=root,discard=unmap,file.driver=file,file.filename=./a,,b.qcow2,backing.driver=raw,backing.file.driver=file,backing.file.filename=/i,,j.raw',
    );
    expect(valuesOf(args, '-chardev').join(' ')).toContain('path=console.log,append=on');
    expect(valuesOf(args, '-netdev')[1]).toContain('cmd:/bin/sh relay.sh imds');
  });

  it('give each machine its own two services, and only the pool a network with others', () => {
    const [main, metadata, pool] = valuesOf(plan(), '-netdev');
    expect(main).toContain('guestfwd=tcp:168.63.129.16:80-cmd:');
    expect(main).toContain('hostfwd=tcp:127.0.0.1:2222-:22');
    expect(metadata).toContain('restrict=on');
    expect(pool).toMatch(/^stream,id=pool,server=on,addr\.type=unix,addr\.path=\/s\/[0-9a-f]{12}\/pool$/);
    expect(valuesOf(plan({ network: { forwards: [] } }), '-netdev')).toHaveLength(2);
  });

  it('let nothing out but through the filter, and nothing at all without one', () => {
    expect(valuesOf(plan(), '-object')).toEqual([
      'filter-redirector,id=guard,netdev=main,queue=rx,outdev=guard-out,indev=guard-in',
    ]);
    expect(valuesOf(plan(), '-netdev')[0]).not.toContain('restrict=on');
    expect(valuesOf(plan({}, 'tcg', false), '-netdev')[0]).toContain('restrict=on');
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
  it('are unique, stay the same, and the one in the pool is listed first', () => {
    const place = { number: 300 };
    const cards = machineCards('id-1', place);
    expect(machineCards('id-1', place)).toEqual(cards);
    const macs = [cards.main, cards.metadata, cards.pool?.mac, machineCards('id-2', place).main];
    expect(new Set(macs).size).toBe(4);
    for (const mac of macs) expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
    expect(interfaceFacts(cards).map(({ address }) => address)).toEqual(['198.18.1.44', '168.63.129.100']);
  });
});

it('rejects a directory whose socket paths are too long', () => {
  expect(() => machineSockets(`/${'x'.repeat(90)}`, 'one')).toThrow(/too long a path/);
});
