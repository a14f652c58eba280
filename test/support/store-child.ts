// A process of its own that works on a store, for tests that kill it or give it a full disk:
// node store-child.ts STORE put DISK | extract DIGEST PATH | collect [DIGEST...]. Prints one line of JSON, with the most memory that it used.

import { ensureImagoError } from '../../src/domain/error/imago-error.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { collectGarbage } from '../../src/oci/layout/collect-garbage.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';

const [, , root = '', command = '', ...args] = process.argv;

async function work(): Promise<object> {
  const store = await openDiskStore(root);
  console.error('open');
  try {
    if (command === 'put') return await putDisk(store, args[0] ?? '');
    if (command === 'extract') return await extractDisk(store, parseDigest(args[0] ?? ''), args[1] ?? '');
    if (command === 'collect')
      return await collectGarbage(store, { roots: args.map(parseDigest), graceMs: 0 });
    throw new Error(`there is no command ${command}`);
  } finally {
    await store.close();
  }
}

try {
  const answer = await work();
  console.log(JSON.stringify({ ...answer, peakKilobytes: process.resourceUsage().maxRSS }));
} catch (error) {
  console.log(JSON.stringify({ error: ensureImagoError(error).toRecord() }));
  process.exitCode = 1;
}
