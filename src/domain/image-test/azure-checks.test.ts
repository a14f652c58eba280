// Every check for Azure passes on a disk that has all, and is shown able to fail.
import { describe, expect, test } from 'vitest';
import { azureChecks } from './azure-checks.ts';
import type { DiskFacts } from './image-check.ts';

const boot = {
  builtIn: ['hv_vmbus', 'hv_storvsc'],
  modules: ['sd_mod', 'nvme', 'hv_netvsc', 'pci_hyperv', 'mlx5_core', 'mana'],
  initrd: ['sd_mod', 'nvme'],
  namedCards: [],
};
const good: DiskFacts = {
  release: {},
  kernel: { version: '6.12.1', installed: ['6.12.1'] },
  sizes: { diskBytes: 2 ** 30, fileBytes: 2 ** 20 },
  packages: [],
  files: [],
  units: ['imago-agent', 'imago-grow-root'].map((name) => ({ name: `${name}.service`, state: 'enabled' })),
  settings: { sysctl: {}, modules: [], kernelArguments: ['quiet', 'console=ttyS0,115200n8'], users: [] },
  containerImages: [],
  boot,
};
const { initrd: _, ...unknownInitrd } = boot;

const broken: Readonly<Record<string, readonly DiskFacts[]>> = {
  'azure-hyperv-disk': [
    { ...good, boot: { ...boot, initrd: ['nvme'] } },
    { ...good, boot: { ...unknownInitrd, builtIn: [] } },
  ],
  'azure-nvme-disk': [{ ...good, boot: { ...boot, initrd: ['sd_mod'] } }],
  'azure-hyperv-network': [{ ...good, boot: { ...boot, modules: ['pci_hyperv', 'mlx5_core', 'mana'] } }],
  'azure-accelerated-network': [
    { ...good, boot: { ...boot, modules: ['hv_netvsc', 'pci_hyperv', 'mlx5_core'] } },
  ],
  'azure-serial-console': [
    { ...good, settings: { ...good.settings, kernelArguments: ['console=tty0', 'console=ttyS01'] } },
  ],
  'azure-nic-names': [{ ...good, boot: { ...boot, namedCards: ['eth0'] } }],
  'azure-root-grows': [{ ...good, units: good.units.slice(0, 1) }],
  'azure-ready-report': [
    { ...good, units: [{ name: 'imago-agent.service', state: 'masked' }, ...good.units.slice(1)] },
  ],
};

describe('checks for Azure', () => {
  test.each(azureChecks.map((check) => [check.id, check] as const))('%s', (id, check) => {
    expect(check.judge(good, {}, {})).toMatchObject({ passed: true });
    expect(check.judge({ ...good, boot: unknownInitrd }, {}, {})).toMatchObject({ passed: true });
    for (const disk of broken[id] ?? []) expect(check.judge(disk, {}, {})).toMatchObject({ passed: false });
    expect(broken[id]).toBeDefined();
  });

  test('another agent may report, and another program may grow the root', () => {
    const packages = [{ name: 'cloud-init', version: '25', architecture: 'all' }];
    for (const check of azureChecks)
      expect(check.judge({ ...good, units: [], packages }, {}, {})).toMatchObject({ passed: true });
  });
});
