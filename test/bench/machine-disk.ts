// How long a machine's own disk takes to make, and what it takes up until it is used.
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeMachineDisk } from '../../src/providers/local/disk/machine-disk.ts';
import { printRow } from './row.ts';

const times = 31;

export async function measureMachineDisk(image: string, folder: string): Promise<void> {
  const sizeBytes = (await stat(image)).size;
  const path = join(folder, 'made', 'disk-1.qcow2');
  const taken: number[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    await rm(path, { force: true });
    const begun = performance.now();
    await makeMachineDisk({ digest: '', disk: image, sizeBytes }, path, 8 * 1024 ** 3);
    taken.push(performance.now() - begun);
  }
  const middle = taken.sort((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
  printRow({
    what: 'a machine’s disk made',
    value: `${middle.toFixed(1)} ms`,
    ...{ bar: 'at most 60 ms', met: middle <= 60 },
  });
  const { size, blocks } = await stat(path);
  const bytes = Math.max(size, blocks * 512);
  printRow({
    what: 'a machine’s disk until it is used',
    value: `${(bytes / 1e6).toFixed(2)} MB`,
    ...{ bar: 'under 2 MB', met: bytes < 2e6 },
  });
}
