// An image that was built from a recipe starts to a login prompt by UEFI, by BIOS and with the kernel given
// directly; and a container runs from an image on its disk without network and without any import.
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBootParts } from '../../src/images/boot-parts.ts';
import { openFileSource } from '../../src/images/byte-source.ts';
import { fetchTools } from '../../src/images/fetch-tools.ts';
import { runTool } from '../../src/images/run-tool.ts';
import { parseDigest } from '../../src/images/store/digest.ts';
import { openDiskStore } from '../../src/images/store/disk-store.ts';
import { runBuild } from '../support/build-child.ts';
import { startMachine } from '../support/serial-machine.ts';
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
  await opened.extract(parseDigest(digest), disk, { flush: false });
  await opened.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function overlay(name: string): Promise<readonly string[]> {
  const path = join(folder, `${name}.qcow2`);
  await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', disk, '-F', 'raw', path]);
  return ['-drive', `if=none,id=root,file=${path},format=qcow2,cache=unsafe`];
}

/** Starts a machine, and returns its console when it shows all of the marks. */
async function start(args: readonly string[], marks: readonly string[]): Promise<string> {
  const machine = startMachine(args, folder);
  try {
    await Promise.all(marks.map((mark) => machine.expect(mark, 560)));
    return await machine.expect('', 1);
  } finally {
    await machine.stop();
  }
}

describe.concurrent('a built image', () => {
  it('starts with the kernel given directly, and runs a container that it brought along', async () => {
    const source = await openFileSource(disk);
    const parts = await readBootParts(source).finally(() => source.close());
    if (parts === undefined) throw new Error('the disk has no parts to start from');
    await writeFile(join(folder, 'vmlinuz'), parts.kernel);
    await writeFile(join(folder, 'initrd'), parts.initrd);
    const kernel = ['-kernel', 'vmlinuz', '-initrd', 'initrd', '-append', parts.cmdline];
    const root = [...(await overlay('direct')), '-device', 'virtio-blk-pci,drive=root'];
    const console = await start([...kernel, ...root], ['login:', 'REPORT-END']);
    expect(console).toMatch(new RegExp(`^GREETED ${greeting}\\s*$`, 'm'));
    expect(console).toContain('IMAGE example.test/hello:1');
    expect(console).toContain('RELEASE IMAGE LOCK RULES ARCHITECTURE BASE');
    expect(console).not.toMatch(/FAILED-UNIT|UNUSED-INITRD/);
  });

  it('starts by UEFI', async () => {
    const variables = join(folder, 'vars.fd');
    await copyFile('/usr/share/OVMF/OVMF_VARS_4M.fd', variables);
    const firmware = ['if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd'];
    firmware.push(`if=pflash,format=raw,file=${variables}`);
    const root = [...(await overlay('uefi')), '-device', 'virtio-blk-pci,drive=root'];
    await start([...firmware.flatMap((drive) => ['-drive', drive]), ...root], ['login:']);
  });

  it('starts by BIOS', async () => {
    const root = await overlay('bios');
    await start([...root, '-device', 'virtio-scsi-pci', '-device', 'scsi-hd,drive=root'], ['login:']);
  });
});
