// Whether content fits on a disk, and the size to give the disk otherwise: what a person writes is the size of the
// whole disk, not of the file system in it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { ext4FreeBytes } from '../ext4/make.ts';
import { type Ext4Usage, fitsExt4, neededExt4Size } from '../ext4/size.ts';
import { aroundRootBytes, leastDiskBytes } from './layout.ts';

const mebibyte = 1024 * 1024;

/** The smallest disk, in whole MiB, that the content fits on. */
export function neededDiskSize(usage: Ext4Usage): number {
  return Math.max(leastDiskBytes, neededExt4Size(usage, ext4FreeBytes) + aroundRootBytes);
}

export function fitsDisk(size: number, usage: Ext4Usage): boolean {
  return fitsExt4(size - aroundRootBytes, usage, ext4FreeBytes);
}

/** Throws `disk-too-small`, with the size to give the disk, when the content does not fit. */
export function requireDiskRoom(size: number, usage: Ext4Usage): void {
  if (!fitsDisk(size, usage)) throw diskTooSmall(size, neededDiskSize(usage), 'needs');
}

/** Sizes in whole MiB: one that is rounded down would be refused again. */
export function diskTooSmall(haveBytes: number, needBytes: number, needs: string): ImagoError {
  const [have, need] = [Math.floor(haveBytes / mebibyte), Math.ceil(needBytes / mebibyte)];
  return new ImagoError(
    'disk-too-small',
    `The disk has ${have} MiB, and its content ${needs} one of ${need} MiB.`,
    {
      hint: `Write \`disk.size: ${need}MiB\` or more into the recipe, leave the size out, or put less on the image.`,
      details: { needBytes: need * mebibyte, haveBytes },
    },
  );
}
