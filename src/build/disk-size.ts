// Checks whether a disk is large enough before anything is built. The lock says how much the inputs take up at most and
// at least; what is between is known only when the layers are there.

import { aroundRootBytes } from '../disk/assemble/layout.ts';
import { diskTooSmall, fitsDisk, neededDiskSize } from '../disk/assemble/room.ts';
import { ext4FreeBytes } from '../disk/ext4/make.ts';
import { type Ext4Usage, ext4Block, neededExt4Size } from '../disk/ext4/size.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { inputsOf, type Lock, type LockedInput, packagesIn } from '../domain/lock/lock.ts';
import { formatBytes } from '../domain/value/bytes.ts';

const mebibyte = 1024 * 1024;
const step = 256 * mebibyte;

/** The size of a disk whose recipe says none: a quarter more than its content needs, in steps. */
export function fittingSize(usage: Ext4Usage): number {
  const needed = neededExt4Size(usage, ext4FreeBytes);
  return Math.ceil((needed * 1.25 + aroundRootBytes) / step) * step;
}

/** Throws `disk-too-small` when the content cannot fit, whatever is left out of the packages. */
export function requireRoom(lock: Lock): void {
  const size = lock.recipe.disk?.sizeBytes;
  if (size === undefined || fitsDisk(size, usageOf(lock, leastShares))) return;
  throw diskTooSmall(size, neededDiskSize(usageOf(lock, likelyShares)), 'needs about');
}

/** A sentence when the content may not fit: only the build will tell. */
export function tightRoom(lock: Lock): string | undefined {
  const size = lock.recipe.disk?.sizeBytes;
  const likely = usageOf(lock, likelyShares);
  if (size === undefined || fitsDisk(size, likely)) return undefined;
  const [have, need] = [size, neededDiskSize(likely)].map((bytes) => Math.ceil(bytes / mebibyte));
  return `The disk has ${have} MiB, which may be too small: with ${need} MiB its content should fit.`;
}

/** How much of what the lock says stays on the disk. */
interface Shares {
  readonly base: number;
  readonly packages: number;
  readonly containers: number;
}

/** Documentation and translations are left out of packages. A container image may be stored as it is unpacked. */
const leastShares: Shares = { base: 0.75, packages: 0.6, containers: 1 };
const likelyShares: Shares = { base: 1, packages: 1, containers: 3 };

function usageOf(lock: Lock, shares: Shares): Ext4Usage {
  const base = packagesIn(lock, 'base');
  const packages = packagesIn(lock, 'packages').filter((input) => !base.includes(input));
  const files = [...inputsOf(lock, 'binary'), ...inputsOf(lock, 'files')];
  const bytes =
    sum(base) * shares.base +
    sum(packages) * shares.packages +
    sum(files) +
    sum(inputsOf(lock, 'container-image')) * shares.containers;
  return { inodes: (base.length + packages.length) * 20, blocks: Math.ceil(bytes / ext4Block) };
}

function sum(inputs: readonly LockedInput[]): number {
  return inputs.reduce((total, { installedBytes, sizeBytes }) => total + (installedBytes ?? sizeBytes), 0);
}

/** Throws `budget-exceeded` when the files take up more than the recipe allows. */
export function requireBudget(lock: Lock, usage: Ext4Usage): void {
  const budget = lock.recipe.budgets?.sizeBytes;
  const used = usage.blocks * ext4Block;
  if (budget === undefined || used <= budget) return;
  throw new ImagoError(
    'budget-exceeded',
    `The files take up ${formatBytes(used)}, and the budget is ${formatBytes(budget)}.`,
    {
      hint: 'Put less on the image, or raise `budgets.size`.',
      details: { usedBytes: used, budgetBytes: budget },
    },
  );
}
