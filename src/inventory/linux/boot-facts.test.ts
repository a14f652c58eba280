// Facts about drivers, from trees as Debian's kernel packages leave them.
import { describe, expect, it } from 'vitest';
import { readBootFacts } from './boot-facts.ts';
import type { DiskTree } from './disk-tree.ts';

const kernel = '6.12.0-cloud';

function treeOf(files: Readonly<Record<string, string>>): DiskTree {
  const entries = Object.keys(files).map((path) => ({ path }) as DiskTree['entries'][number]);
  return {
    entries,
    resolve: () => undefined,
    look: () => undefined,
    list: (folder) => entries.filter(({ path }) => path.slice(0, path.lastIndexOf('/')) === folder),
    readText: async (path) => files[path],
    read: async () => Buffer.alloc(0),
  };
}

const modules = `/usr/lib/modules/${kernel}`;
const tree = treeOf({
  [`${modules}/modules.builtin`]: 'kernel/drivers/hv/hv_vmbus.ko\nkernel/drivers/scsi/hv_storvsc.ko\n',
  [`${modules}/kernel/drivers/pci/controller/pci-hyperv.ko.xz`]: '',
  [`${modules}/kernel/drivers/net/hyperv/hv_netvsc.ko`]: '',
  '/usr/lib/modules/6.1.0-old/kernel/drivers/nvme/host/nvme.ko': '',
  '/etc/systemd/network/10-lan.network': '[Match]\nName=eth0 e*\n[Network]\nDHCP=yes\n',
  '/etc/systemd/network/20-bridge.network': '[Match]\nMACAddress=02:00:00:00:00:01\n[Link]\nName=eth9\n',
  '/etc/network/interfaces': 'auto lo\niface lo inet loopback\n  iface ens4 inet dhcp\n',
});
const bootWith = (initrd: Buffer) => ({
  kernelVersion: kernel,
  kernel: Buffer.alloc(0),
  initrd,
  cmdline: '',
});

describe('the facts of a boot', () => {
  it('name the drivers of the kernel that starts, and cards that are called by name', async () => {
    expect(await readBootFacts(tree, kernel, undefined)).toEqual({
      builtIn: ['hv_vmbus', 'hv_storvsc'],
      modules: ['hv_netvsc', 'pci_hyperv'],
      namedCards: ['ens4', 'eth0'],
    });
  });

  it('name the drivers of an initrd only if it shows its names', async () => {
    const plain = Buffer.from('070701…modules/nvme.ko\0…modules/sd_mod.ko\0');
    expect(await readBootFacts(tree, kernel, bootWith(plain) as never)).toMatchObject({
      initrd: ['sd_mod', 'nvme'],
    });
    const packed = Buffer.from('070701…kernel/x86/microcode\0…(zstd)');
    expect(await readBootFacts(tree, kernel, bootWith(packed) as never)).not.toHaveProperty('initrd');
  });
});
