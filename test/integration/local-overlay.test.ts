// The disk of a machine, judged by QEMU's own tool.
import { type FileHandle, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { writeOverlay } from '../../src/disk/qcow2/overlay.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { diskBytesOf, flattenDisk } from '../../src/providers/local/disk/machine-disk.ts';

const imageBytes = 3 * 1024 * 1024;
let folder: string;
let backing: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-overlay-'));
  backing = join(folder, 'image: of, ümago.raw');
  const file = await open(backing, 'w');
  await file.write('first', 0);
  await file.write('last', imageBytes - 4);
  await file.close();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function judge(...args: readonly string[]): Promise<string> {
  return (await runTool(await requireTool('qemu-img'), args)).stdout.toString();
}

describe('a disk over an image', () => {
  it.each([imageBytes, imageBytes + 512, 8 * 1024 ** 3, 6 * 1024 ** 4])(
    'of %i bytes is sound, and small',
    async (bytes) => {
      const path = join(folder, `${bytes}.qcow2`);
      await writeOverlay(path, { backing, bytes });
      expect(JSON.parse(await judge('check', '--output=json', path))).toMatchObject({ 'check-errors': 0 });
      expect(JSON.parse(await judge('info', '--output=json', path))).toMatchObject({
        format: 'qcow2',
        'virtual-size': bytes,
        'full-backing-filename': backing,
        'backing-filename-format': 'raw',
      });
      expect((await stat(path)).size).toBeLessThan(2 * 1024 * 1024);
      expect(await diskBytesOf(path)).toBe(bytes);
    },
  );

  it('reads as the image, takes writes, and leaves the image as it was', async () => {
    const path = join(folder, 'written.qcow2');
    const flat = join(folder, 'flat.raw');
    await writeOverlay(path, { backing, bytes: 2 * imageBytes });
    const image = await readFile(backing);
    await runTool('qemu-io', ['-f', 'qcow2', '-c', 'write -P 65 4096 8192', path]);
    expect(JSON.parse(await judge('check', '--output=json', path))).toMatchObject({ 'check-errors': 0 });
    await judge('convert', '-f', 'qcow2', '-O', 'raw', path, flat);
    const expected = Buffer.concat([image, Buffer.alloc(imageBytes)]).fill(65, 4096, 4096 + 8192);
    expect((await readFile(flat)).equals(expected)).toBe(true);
    expect((await readFile(backing)).equals(image)).toBe(true);
  });

  it('leads to no other file of this host when it is flattened, whatever its header names', async () => {
    const [path, flat] = [join(folder, 'hostile, disk.qcow2'), join(folder, 'hostile.raw')];
    const secret = join(folder, 'secret');
    await writeFile(secret, 'a secret of root'.padEnd(4096));
    await writeOverlay(path, { backing: secret, bytes: imageBytes });
    const flatten = () => flattenDisk(path, flat, new AbortController().signal, backing);
    await flatten();
    expect((await readFile(flat)).equals(await readFile(backing))).toBe(true);
    const file = await open(path, 'r+');
    await file.write(Buffer.from([0, 0, 0, 0, 0, 0, 0, 4]), 0, 8, 72);
    await file.close();
    await expect(flatten()).rejects.toMatchObject({ code: 'input-invalid' });
  });

  it('survives a power cut once it is made: what was written is flushed, and then its name', async () => {
    const handle = await open(backing);
    const handles = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const order: string[] = [];
    for (const call of ['write', 'truncate', 'sync'] as const) {
      const real = handles[call] as (...args: unknown[]) => Promise<unknown>;
      vi.spyOn(handles, call).mockImplementation(async function (this: FileHandle, ...args: unknown[]) {
        const kind = (await this.stat()).isDirectory() ? 'folder' : 'file';
        const result = await real.apply(this, args);
        order.push(call === 'sync' ? `sync ${kind}` : 'change');
        return result as never;
      });
    }
    await writeOverlay(join(folder, 'flushed.qcow2'), { backing, bytes: imageBytes });
    vi.restoreAllMocks();
    expect(order.lastIndexOf('change')).toBeGreaterThanOrEqual(0);
    expect(order.slice(order.lastIndexOf('change') + 1)).toEqual(['sync file', 'sync folder']);
  });

  it('cannot stand on a path that the format has no room for', async () => {
    const long = `/${'x'.repeat(1100)}`;
    const made = writeOverlay(join(folder, 'never.qcow2'), { backing: long, bytes: 1 });
    await expect(made).rejects.toMatchObject({ code: 'input-invalid' });
  });
});
