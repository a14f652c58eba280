// The assembled disk as e2fsck, debugfs and sfdisk see it; the same bytes for everybody; and nothing left
// behind by work that failed, was cancelled or was killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rootContent } from '../../src/disk/assemble/assemble-disk.ts';
import { layOutDisk } from '../../src/disk/assemble/layout.ts';
import { readBootParts } from '../../src/disk/boot/boot-parts.ts';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { makeExt4 } from '../../src/disk/ext4/make.ts';
import { measureEntries, neededExt4Size } from '../../src/disk/ext4/size.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { assembleSample, capability, fakeBoot, sampleTree } from '../support/assemble-disk.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';

const mebibyte = 1024 * 1024;
const program = join(import.meta.dirname, '../support/assemble-disk.ts');
let folder: string;

beforeAll(async () => {
  await fetchTools({ group: 'disk' });
  await fetchTools({ group: 'judges' });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-disk-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The root file system of a disk as a file of its own. */
async function extractRoot(disk: string, size: number): Promise<string> {
  const path = join(folder, 'root.ext4');
  const { root } = layOutDisk(size, 'sample');
  await runTool('dd', [
    `if=${disk}`,
    `of=${path}`,
    'bs=1M',
    `skip=${root.offset / mebibyte}`,
    `count=${root.size / mebibyte}`,
    'conv=sparse',
  ]);
  return path;
}

async function debugfs(path: string, command: string): Promise<string> {
  return (await runTool(await requireTool('debugfs'), ['-R', command, path])).stdout.toString();
}

describe('the assembled disk', () => {
  it('passes e2fsck and sfdisk, has a journal, and holds what went in', async () => {
    const disk = await assembleSample(folder);
    expect((await stat(disk.path)).size).toBe(256 * mebibyte);
    expect((await runTool(await requireTool('sfdisk'), ['--verify', disk.path])).stdout.toString()).toContain(
      'No errors',
    );
    const root = await extractRoot(disk.path, disk.size);
    await runTool(await requireTool('e2fsck'), ['-f', '-n', root]);

    const stats = (await runTool(await requireTool('dumpe2fs'), ['-h', root])).stdout.toString();
    expect(stats).toMatch(/features:.*has_journal.*metadata_csum/);
    expect(stats).toMatch(/Errors behavior:\s+Remount read-only/);
    expect(stats).toContain(`Filesystem UUID:          ${disk.layout.filesystemUuid}`);

    expect(await debugfs(root, 'stat /etc/shadow')).toMatch(/Mode:\s+0640[\s\S]*User:\s+0\s+Group:\s+42/);
    expect(await debugfs(root, 'stat "/home/user/notes-ä-漢"')).toMatch(
      /User: 100000\s+Group: 100001[\s\S]*mtime: 0x5f5e1000/,
    );
    expect(await debugfs(root, 'stat /usr/bin/su')).toMatch(/Mode:\s+04755[\s\S]*Links: 2/);
    expect(await debugfs(root, 'stat /var/tmp')).toMatch(/Mode:\s+01777/);
    expect(await debugfs(root, 'stat /dev/null')).toMatch(
      /character special[\s\S]*Device major\/minor number: 01:03/,
    );
    expect(await debugfs(root, 'stat /usr/lib/long')).toContain('symlink');
    await debugfs(root, `dump "/deep/${'d'.repeat(200)}/${'e'.repeat(200)}" ${join(folder, 'deep')}`);
    expect(await readFile(join(folder, 'deep'), 'utf8')).toBe('deep');
    await debugfs(root, `ea_get -f ${join(folder, 'cap')} /usr/bin/ping security.capability`);
    expect((await readFile(join(folder, 'cap'))).equals(capability)).toBe(true);
    await debugfs(root, `dump /usr/share/big ${join(folder, 'big')}`);
    expect((await readFile(join(folder, 'big'))).equals(Buffer.alloc(9_000_000, 'big '))).toBe(true);
  });

  it('gives back the kernel, the initrd and the arguments that it starts with', async () => {
    const disk = await assembleSample(folder);
    const source = await openFileSource(disk.path);
    const parts = await readBootParts(source);
    await source.close();
    expect(parts?.kernel.equals(fakeBoot.kernel)).toBe(true);
    expect(parts?.initrd.equals(fakeBoot.initrd)).toBe(true);
    expect(parts).toMatchObject({ cmdline: disk.cmdline, kernelVersion: fakeBoot.kernelVersion });
  });

  it('is the same, byte for byte, in another folder, for another user, mask and time zone', async () => {
    const mine = join(folder, 'mine');
    const theirs = join(folder, 'a folder', 'of others');
    await mkdir(theirs, { recursive: true });
    await mkdir(mine);
    const first = await assembleSample(mine);
    const user = canBeOrdinary ? ordinaryUser(folder) : undefined;
    if (user !== undefined) {
      await chmod(folder, 0o755);
      await chown(theirs, user.uid, user.uid);
    }
    const words = user?.node(program, theirs) ?? [process.execPath, program, theirs];
    const [name, ...args] = ['sh', '-c', 'umask 077; exec "$@"', 'sh', ...words] as const;
    const child = spawn(name, args, {
      cwd: '/',
      env: { PATH: process.env.PATH, TZ: 'Asia/Tokyo', LC_ALL: 'C', HOME: '/nonexistent' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    await runTool('cmp', [first.path, join(theirs, 'disk.raw')]);
  });

  it('differs in its ids when its seed does, and is otherwise made alike', async () => {
    const one = await assembleSample(folder);
    const two = await assembleSample(folder, { seed: 'other' });
    expect(two.layout.root.guid).not.toBe(one.layout.root.guid);
    expect(two.cmdline).toBe(`root=PARTUUID=${two.layout.root.guid} console=ttyS0 quiet`);
  });

  it('tells its steps', async () => {
    const steps = new Set<string>();
    await assembleSample(folder, {
      onProgress({ step, bytes, total }) {
        expect(bytes).toBeLessThanOrEqual(total);
        steps.add(step);
      },
    });
    // The first two are made at the same time.
    expect([...steps].sort()).toEqual(['boot', 'root', 'write']);
    expect([...steps].at(-1)).toBe('write');
  });
});

describe('nothing is left', () => {
  it('when the disk is too small, which is told before anything is written', async () => {
    const files: TarItem[] = [tarFile('big', Buffer.alloc(150 * mebibyte))];
    const root = { usage: measureEntries(files.map(({ entry }) => entry)), stream: () => writeTar(files) };
    await expect(assembleSample(folder, { size: 200 * mebibyte, root })).rejects.toMatchObject({
      code: 'disk-too-small',
      message: expect.stringMatching(/^The disk has 200 MiB, and its content needs one of 2\d\d MiB\.$/),
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it('when the content breaks off in the middle', async () => {
    const { usage, stream } = rootContent(await sampleTree());
    async function* broken() {
      for await (const chunk of stream()) {
        yield chunk.subarray(0, 100_000);
        throw new RangeError('the layer is gone');
      }
    }
    await expect(assembleSample(folder, { root: { usage, stream: broken } })).rejects.toThrow(
      'the layer is gone',
    );
    expect(await readdir(join(folder, 'work'))).toEqual([]);
    expect(await readdir(folder)).toEqual(['work']);
  });

  it('when it is cancelled in the middle', async () => {
    const stop = new AbortController();
    const { usage, stream } = rootContent(await sampleTree());
    async function* stopping(signal?: AbortSignal) {
      for await (const chunk of stream(signal)) {
        yield chunk;
        stop.abort();
      }
    }
    const work = assembleSample(folder, { signal: stop.signal, root: { usage, stream: stopping } });
    await expect(work).rejects.toMatchObject({ code: 'cancelled' });
    expect(await readdir(join(folder, 'work'))).toEqual([]);
  });

  it.each(['4m', '12m'])('when only %s of space are there', async (space) => {
    const run = 'mount -t tmpfs -o size="$1" tmpfs "$2" && "$3" "$4" "$2"; echo "left:" $(ls "$2" "$2/work")';
    const args = [
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      run,
      'sh',
      space,
      folder,
      process.execPath,
      program,
    ];
    const { stdout, stderr } = await runTool('unshare', args);
    expect(stderr).toContain("code: 'no-space'");
    expect(stdout.toString().replaceAll(folder, '.')).toBe('left: .: work ./work:\n');
  });

  it('by a process that was killed, once the next one has run', async () => {
    const child = spawn(process.execPath, [program, folder, 'slow'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await readdir(join(folder, 'work'))).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['work']);
    await assembleSample(folder);
    expect(await readdir(join(folder, 'work'))).toEqual([]);
  });
});

describe('the size that is foretold', () => {
  async function make(files: TarItem[], size: number): Promise<number> {
    const path = join(folder, 'fs');
    const file = await open(path, 'w');
    await file.truncate(size);
    await file.close();
    const usage = measureEntries(files.map(({ entry }) => entry));
    const ids = {
      uuid: '12345678-1234-4234-8234-123456789abc',
      hashSeed: '12345678-1234-4234-8234-123456789abd',
    };
    await makeExt4({
      path,
      offset: 0,
      size,
      ...ids,
      label: 'root',
      epoch: 1,
      usage,
      content: writeTar(files),
      workFolder: folder,
    });
    await runTool(await requireTool('e2fsck'), ['-f', '-n', path]);
    const stats = (await runTool(await requireTool('dumpe2fs'), ['-h', path])).stdout.toString();
    await rm(path);
    return Number(/^Free blocks:\s+(\d+)$/m.exec(stats)?.[1]) * 4096;
  }

  it.each([
    [
      'many small files',
      [
        ...Array.from({ length: 50 }, (_, index) => ({
          entry: tarEntry(`d${index}`, { type: 'directory' }),
        })),
        ...Array.from({ length: 4000 }, (_, index) =>
          tarFile(`d${index % 50}/${'name'.repeat(20)}${index}`, 'x'),
        ),
      ],
    ],
    [
      'few large files',
      Array.from({ length: 4 }, (_, index) => tarFile(`f${index}`, Buffer.alloc(30 * mebibyte, 'y'))),
    ],
  ] satisfies [string, TarItem[]][])('is enough for %s, and not much more', async (_what, files) => {
    const usage = measureEntries(files.map(({ entry }) => entry));
    const size = neededExt4Size(usage, 32 * mebibyte);
    const free = await make(files, size);
    expect(free).toBeGreaterThanOrEqual(32 * mebibyte);
    expect(free).toBeLessThan(32 * mebibyte + Math.max(2 * mebibyte, size * 0.02));
  });
});
