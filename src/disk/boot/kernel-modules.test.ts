import { describe, expect, it } from 'vitest';
import { moduleIndex } from './kernel-modules.ts';

const index = moduleIndex({
  dep: [
    'kernel/scsi/scsi_common.ko.xz:',
    'kernel/scsi/scsi_mod.ko.xz: kernel/scsi/scsi_common.ko.xz',
    'kernel/scsi/sd_mod.ko.xz: kernel/scsi/scsi_mod.ko.xz kernel/scsi/scsi_common.ko.xz',
    'kernel/pci/pci-hyperv.ko: kernel/pci/pci-hyperv-intf.ko kernel/hv/hv_vmbus.ko',
    'kernel/pci/pci-hyperv-intf.ko:',
    'kernel/hv/hv_vmbus.ko:',
    'kernel/fs/ext4.ko: kernel/fs/jbd2.ko',
    'kernel/fs/jbd2.ko:',
    'kernel/crypto/crc32c_generic.ko:',
    'kernel/a.ko:',
    'kernel/b.ko:',
  ].join('\n'),
  builtin: 'kernel/virtio/virtio_pci.ko\n',
  softdep: '# comment\nsoftdep ext4 pre: crc32c\nsoftdep a pre: b\nsoftdep b pre: a\n',
  alias: 'alias crc32c crc32c_generic\nalias pci:v* some_module\n',
});

describe('modules are loaded', () => {
  it('after all that they need, each once', () => {
    expect(index.loadOrder(['sd_mod', 'pci_hyperv', 'scsi_mod'])).toEqual([
      'kernel/scsi/scsi_common.ko.xz',
      'kernel/scsi/scsi_mod.ko.xz',
      'kernel/scsi/sd_mod.ko.xz',
      'kernel/hv/hv_vmbus.ko',
      'kernel/pci/pci-hyperv-intf.ko',
      'kernel/pci/pci-hyperv.ko',
    ]);
  });

  it('after what they want though they do not link to it, by its alias too', () => {
    expect(index.loadOrder(['ext4'])).toEqual([
      'kernel/crypto/crc32c_generic.ko',
      'kernel/fs/jbd2.ko',
      'kernel/fs/ext4.ko',
    ]);
  });

  it('even when two want each other', () => {
    expect(index.loadOrder(['a'])).toEqual(['kernel/b.ko', 'kernel/a.ko']);
  });

  it('not at all when the kernel has them built in', () => {
    expect(index.loadOrder(['virtio_pci'])).toEqual([]);
  });

  it('or named when the kernel lacks them, unless they are optional', () => {
    expect(() => index.loadOrder(['nvme'])).toThrow(/no driver nvme/);
    expect(index.loadOrder(['nvme'], new Set(['nvme']))).toEqual([]);
  });
});
