// Disks that a PC's firmware starts a few instructions from: real machines that do one thing, a second after their
// start, without a system. What they say goes to the console.
import { open } from 'node:fs/promises';
import { writeOverlay } from '../../src/disk/qcow2/overlay.ts';

const programs = {
  /** Writes a sector to one place after the other, some times a second: `w` when it was written, `e` when not. */
  writes: [
    '31c0 8ed8 8ed0 bc007c fb', //           xor ax, ax; ds = ss = ax; sp = 0x7c00; sti
    'be387c b80043 cd13', //           next: si = request; ax = 0x4300; int 0x13 (write)
    'b065 7202 b077', //                     al = 'e'; jc say; al = 'w'
    'baf803 ee b00a ee', //             say: dx = 0x3f8; out al; out '\n'
    '8106407c8000 8126407cff1f', //          request.sector += 128, within 4 MiB
    'b486 31c9 ba204e cd15', //              ah = 0x86; cx:dx = 20 000 µs; int 0x15 (wait)
    'b280 ebd2', //                          dl = the disk; jmp next
    '1000 0100 007c 0000 8000000000000000', // request: 1 sector from 0x7c00 to sector 128
  ],
  /** Hears the power button only when it is pressed a second time: `p` for each. */
  hearsSecondPress: [
    'ba0206 b80001 ef', //       allow the button: port 0x602 = 0x100
    'b302', //                   bl = 2
    'ba0006 ed f6c401 74f7', //  wait: until bit 8 of port 0x600
    'b80001 ef', //              clear it
    'b070 baf803 ee b00a ee', // say 'p'
    'fecb 75e6', //              dec bl; jnz wait
    'ba0406 b80020 ef f4', //    power off: port 0x604 = 0x2000
  ],
  /** Restarts the machine after 3 s, for ever. */
  restarts: [
    'b486 b92d00 31d2 cd15', // ah = 0x86; cx:dx = 2.9 s; int 0x15 (wait)
    'b006 baf90c ee f4', //     reset: port 0xcf9 = 6
  ],
} as const;

const diskBytes = 8 * 1024 * 1024;

/** Makes a machine's disk at the path, over an image that it makes as well, next to the disk unless `backing` names another path. */
export async function makeBootSectorDisk(
  path: string,
  program: keyof typeof programs,
  backing = `${path}.raw`,
): Promise<void> {
  const sector = Buffer.alloc(512);
  Buffer.from(programs[program].join('').replaceAll(' ', ''), 'hex').copy(sector);
  sector.writeUInt16LE(0xaa55, 510);
  const file = await open(backing, 'w');
  await file.write(sector, 0);
  await file.truncate(diskBytes);
  await file.close();
  await writeOverlay(path, { backing, bytes: diskBytes });
}
