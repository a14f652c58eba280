// An image that was built from a recipe starts by UEFI from its own boot files, and a container runs from an image on its
// disk without network and without any import. The same assembly by BIOS is shown in disk-boots.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { parseDigest } from '../../src/oci/layout/digest.ts';
import { runBuild } from '../support/build-child.ts';
import { startMachine, uefiFirmware } from '../support/serial-machine.ts';
import { greeting, sharedBuildCache, writeTestRecipe } from '../support/test-recipe.ts';

let folder: string;
let disk: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-built-'));
  await fetchTools({ group: 'disk' });
  const recipe = await writeTestRecipe(folder);
  const store = join(folder, 'store');
  const { digest } = await runBuild({ recipe, cache: sharedBuildCache(), store }, () => undefined);
  disk = join(folder, 'disk.raw');
  const opened = await openDiskStore(store);
  await extractDisk(opened, parseDigest(digest), disk, { flush: false });
  await opened.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('a built image starts by its firmware, and runs a container that it brought along', async () => {
  const own = join(folder, 'own.qcow2');
  await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', disk, '-F', 'raw', own]);
  const root = ['-drive', `if=none,id=root,file=${own},format=qcow2,cache=unsafe`];
  const machine = startMachine(
    [...(await uefiFirmware(folder)), ...root, '-device', 'virtio-blk-pci,drive=root'],
    folder,
  );
  try {
    await Promise.all(['login:', 'REPORT-END'].map((mark) => machine.expect(mark, 560)));
    const console = await machine.expect('', 1);
    expect(console).toMatch(new RegExp(`^GREETED ${greeting}\\s*$`, 'm'));
    expect(console).toContain('IMAGE example.test/hello:1');
    expect(console).toContain('RELEASE IMAGE LOCK RULES ARCHITECTURE BASE');
    expect(console).not.toMatch(/FAILED-UNIT|UNUSED-INITRD/);
  } finally {
    await machine.stop();
  }
});
