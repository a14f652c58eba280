// Whether a disk would boot in Azure: Microsoft's requirements of Linux disks. They are checked before a disk is copied
// there, because a machine that does not boot says nothing.
import { type DiskCheck, type DiskFacts, hasUnit, pass, passWhenNone, type Verdict } from './image-check.ts';

/** What an inventory tells of drivers, besides `sd_mod`. */
export const azureDrivers = [
  ...['hv_vmbus', 'hv_storvsc', 'sd_mod', 'nvme'],
  ...['hv_netvsc', 'pci_hyperv', 'mlx5_core', 'mana'],
] as const;

type Driver = (typeof azureDrivers)[number];

/** A driver of the root disk must be in the kernel or in its initrd; without a known initrd, its file must be there. */
function forRoot({ boot }: DiskFacts, ...names: readonly Driver[]): Verdict {
  const { builtIn = [], modules = [], initrd = modules } = boot ?? {};
  const missing = names.filter((name) => !builtIn.includes(name) && !initrd.includes(name));
  return passWhenNone(missing, 'the kernel or the initrd has all');
}

function onDisk({ boot }: DiskFacts, ...names: readonly Driver[]): Verdict {
  const { builtIn = [], modules = [] } = boot ?? {};
  const missing = names.filter((name) => !builtIn.includes(name) && !modules.includes(name));
  return passWhenNone(missing, 'the kernel has all');
}

function passWhen(holds: boolean, missing: string): Verdict {
  return holds ? pass('yes') : { passed: false, detail: missing };
}

const hasPackage = ({ packages }: DiskFacts, ...names: readonly string[]) =>
  packages.some(({ name }) => names.includes(name));

/** For disks with `boot` facts. */
export const azureChecks: readonly DiskCheck[] = [
  {
    id: 'azure-hyperv-disk',
    title: 'the root is found on a SCSI disk of Hyper-V',
    remedy: 'Use a kernel with hv_vmbus, hv_storvsc and sd_mod, built in or in its initrd.',
    judge: (disk) => forRoot(disk, 'hv_vmbus', 'hv_storvsc', 'sd_mod'),
  },
  {
    id: 'azure-nvme-disk',
    title: 'the root is found on an NVMe disk',
    remedy: 'Use a kernel with nvme, built in or in its initrd: newer sizes have no other disks.',
    judge: (disk) => forRoot(disk, 'nvme'),
  },
  {
    id: 'azure-hyperv-network',
    title: 'the kernel has the network of Hyper-V',
    remedy: 'Use a kernel with hv_netvsc.',
    judge: (disk) => onDisk(disk, 'hv_netvsc'),
  },
  {
    id: 'azure-accelerated-network',
    title: 'the kernel has the drivers of accelerated networking',
    remedy: 'Use a kernel with pci_hyperv, mlx5_core and mana, such as linux-image-cloud-amd64.',
    judge: (disk) => onDisk(disk, 'pci_hyperv', 'mlx5_core', 'mana'),
  },
  {
    id: 'azure-serial-console',
    title: 'the kernel writes to the serial console',
    remedy: 'Add console=ttyS0 to the kernel arguments: boot diagnostics and reports of nodes need it.',
    judge: ({ settings: { kernelArguments } }) =>
      passWhen(
        kernelArguments.some((word) => /^console=ttyS0(?:,|$)/.test(word)),
        'no console=ttyS0',
      ),
  },
  {
    id: 'azure-nic-names',
    title: 'the network configuration names no network card',
    remedy: 'Match cards by type or by a pattern such as e*: sizes name them differently.',
    judge: ({ boot }) => passWhenNone(boot?.namedCards ?? [], 'none'),
  },
  {
    id: 'azure-root-grows',
    title: 'the root grows to the size of its disk',
    remedy: 'Enable a unit that grows the root partition and its file system.',
    judge: (disk) =>
      passWhen(
        hasUnit(disk, 'imago-grow-root.service') ||
          hasPackage(disk, 'cloud-init', 'cloud-initramfs-growroot'),
        'neither imago-grow-root.service nor cloud-init',
      ),
  },
  {
    id: 'azure-ready-report',
    title: 'something reports to Azure that the machine is provisioned',
    remedy: "Install Imago's agent, cloud-init, or waagent: Azure fails machines that do not report.",
    judge: (disk) =>
      passWhen(
        hasUnit(disk, 'imago-agent.service') || hasPackage(disk, 'cloud-init', 'waagent', 'walinuxagent'),
        'no agent reports',
      ),
  },
];
