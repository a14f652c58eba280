// Whether a disk is large enough, told before anything is built: by what the lock says, and where that is not
// clear enough, by the lists of files in the packages.

import { formatBytes } from '../../domain/bytes.ts';
import { ImagoError } from '../../domain/errors.ts';
import { inputsOf, type Lock, type LockedInput, packagesIn } from '../../domain/lock.ts';
import { ext4FreeBytes } from '../../images/ext4.ts';
import { type Ext4Usage, ext4Block, fitsExt4, neededExt4Size } from '../../images/ext4-size.ts';

const mebibyte = 1024 * 1024;
/** Partition table, EFI system partition and the last MiB. */
const aroundRoot = 66 * mebibyte;
const step = 256 * mebibyte;

/** The size of a disk whose recipe says none: a quarter more than its content needs, in steps. */
export function fittingSize(usage: Ext4Usage): number {
  const needed = neededExt4Size(usage, ext4FreeBytes);
  return Math.ceil((needed * 1.25 + aroundRoot) / step) * step;
}

/** Throws `disk-too-small` when the content cannot fit, whatever the packages leave out. */
export function requireRoom(lock: Lock): void {
  const size = lock.recipe.disk?.sizeBytes;
  if (size === undefined) return;
  const least = leastUsage(lock);
  if (fitsExt4(size - aroundRoot, least, ext4FreeBytes)) return;
  const needBytes = neededExt4Size(likelyUsage(lock), ext4FreeBytes) + aroundRoot;
  throw new ImagoError(
    'disk-too-small',
    `The disk has ${formatBytes(size)}, and its content needs about ${formatBytes(needBytes)}.`,
    {
      details: { needBytes, haveBytes: size },
    },
  );
}

/** Documentation and translations are left out: at least so much of a package stays. */
const leastShare = 0.6;

function leastUsage(lock: Lock): Ext4Usage {
  return usageOf(lock, leastShare);
}

function likelyUsage(lock: Lock): Ext4Usage {
  return usageOf(lock, 1);
}

function usageOf(lock: Lock, share: number): Ext4Usage {
  const packages = new Set([...packagesIn(lock, 'base'), ...packagesIn(lock, 'packages')]);
  const sum = (inputs: Iterable<LockedInput>, of: (input: LockedInput) => number) =>
    [...inputs].reduce((total, input) => total + of(input), 0);
  const bytes =
    sum(packages, (input) => (input.installedBytes ?? input.sizeBytes) * share) +
    sum(
      [...inputsOf(lock, 'binary'), ...inputsOf(lock, 'files')],
      (input) => input.installedBytes ?? input.sizeBytes,
    ) +
    sum(inputsOf(lock, 'container-image'), (input) => input.sizeBytes * 2);
  return { inodes: packages.size * 20, blocks: Math.ceil(bytes / ext4Block) };
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
