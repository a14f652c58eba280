// Measures the store against casync and qemu-img on a real node image, in one run on one machine, as ratios:
// node test/bench/store-disk.ts [--large]. The image is made once by mmdebstrap and kept in Imago's cache;
// --large adds a disk of 16 GiB to show that memory does not grow.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { isZero } from '../../src/disk/bytes/extent.ts';
import { appendVhdFooter } from '../../src/disk/vhd/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { machineMirror } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders, requireTool } from '../../src/host/tools/tools.ts';
import type { StoredDisk } from '../../src/oci/disks/commit-disk.ts';
import { openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import { RegistryClient } from '../../src/oci/registry/client.ts';
import { push } from '../../src/oci/registry/push.ts';
import { startRegistry } from '../support/docker-registry.ts';
import { printRow, printSkipped } from './row.ts';

const packages = [
  'linux-image-cloud-amd64',
  'systemd-sysv',
  'udev',
  'dbus',
  'iproute2',
  'curl',
  'ca-certificates',
  'openssh-server',
  'containerd',
  'runc',
  'containernetworking-plugins',
];
const component = 'usr/sbin/runc';
const diskSize = '1536M';
const epoch = '1760000000';
const childFile = join(import.meta.dirname, '../support/store-child.ts');
const rounds = 3;
/** In this process, as the daemon does it. */
const extractRounds = 5;
const largePeak = 'peak memory of storing a disk of 16 GiB';
const memoryBar = 'at most 300 MB';

interface Run<T> {
  readonly seconds: number;
  readonly peakMegabytes: number;
  readonly answer: T;
}

const cache = join(cacheFolders()[0] ?? '', 'bench');
await mkdir(cache, { recursive: true });
const work = await mkdtemp(join(cache, 'store-'));
try {
  await measure();
} finally {
  await rm(work, { recursive: true, force: true });
}
async function measure(): Promise<void> {
  const tar = await nodeTar();
  const changed = join(work, 'changed.tar');
  const componentBytes = await changeComponent(tar, changed);
  const [before, after] = [join(work, 'before.raw'), join(work, 'after.raw')];
  await makeDisk(tar, before);
  await makeDisk(changed, after);
  await rm(changed);
  console.log(
    `disk ${diskSize}, ${mega((await stat(before)).blocks * 512)} of data; component ${mega(componentBytes.length)}`,
  );
  for (const path of [before, after]) await readThrough(path);

  const puts: Run<StoredDisk>[] = [];
  const makes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await fresh('store', 'casync');
    puts.push(await ours<StoredDisk>('put', before));
    makes.push(await casync('make', before, 'before'));
  }
  const first = best(puts);
  faster('disk into an empty store', first.seconds, 'casync', Math.min(...makes), 1);
  const peak = Math.max(...puts.map((put) => put.peakMegabytes));
  lean('peak memory of storing a disk of 1.5 GiB', peak);

  const casyncBefore = await folderBytes('casync');
  const second = await ours<StoredDisk>('put', after);
  const makeAgain = await casync('make', after, 'after');
  faster('second version into the store', second.seconds, 'casync', makeAgain, 1);
  const added = second.answer.addedBytes;
  const casyncAdded = (await folderBytes('casync')) - casyncBefore;
  const compressed = zstdCompressSync(componentBytes).length;
  const bytes = 'bytes stored for the second version';
  const most = compressed * 1.3 + 2_000_000;
  fewerBytes(bytes, added, 'component compressed', compressed, 'at most 1.3 times plus 2 MB', most);
  fewerBytes(bytes, added, 'casync', casyncAdded, 'at most 1.1 times', casyncAdded * 1.1);
  const whole = await folderBytes('store/blobs');
  const casyncWhole = await folderBytes('casync');
  fewerBytes('the whole store', whole, 'casync', casyncWhole, 'at most 1.1 times', casyncWhole * 1.1);

  const sent = await pushSecond(first.answer.digest, second.answer.digest);
  fewerBytes(
    'push of the second version',
    sent,
    'the store added',
    added,
    'no more plus 1 MB',
    added + 1_000_000,
  );

  const qcow = join(work, 'before.qcow2');
  await runTool('qemu-img', ['convert', '-c', '-O', 'qcow2', '-o', 'compression_type=zstd', before, qcow]);
  await measureVhd(first.answer.digest, before, qcow);
  if (process.argv.includes('--large')) await measureLarge(before);
  else printSkipped(largePeak, memoryBar, 'takes minutes and 6 GB; run with --large');
}

/** A fixed VHD, footer and all, and on the disk before the clock stops: both flush. */
async function measureVhd(digest: Digest, before: string, qcow: string): Promise<void> {
  const [own, other] = [join(work, 'own.vhd'), join(work, 'other.vhd')];
  const identity = { timestamp: Number(epoch), uuid: '12345678-1234-1234-1234-123456789abc' };
  const fixed = ['-t', 'writeback', '-O', 'vpc', '-o', 'subformat=fixed,force_size=on'];
  const extracts: number[] = [];
  const converts: number[] = [];
  const store = await openDiskStore(join(work, 'store'));
  try {
    for (let round = 0; round < extractRounds; round += 1) {
      await fresh('own.vhd', 'other.vhd');
      const start = performance.now();
      await extractDisk(store, digest, own, { complete: (path) => appendVhdFooter(path, identity) });
      extracts.push((performance.now() - start) / 1000);
      converts.push(await timed('qemu-img', ['convert', ...fixed, qcow, other]));
    }
  } finally {
    await store.close();
  }
  await runTool('qemu-img', ['compare', '-f', 'raw', '-F', 'vpc', before, own]);
  const peer = 'qemu-img from zstd qcow2';
  faster('store to fixed VHD file', Math.min(...extracts), peer, Math.min(...converts), 0.7);
  await fresh('own.vhd', 'other.vhd');
}

/** To a real registry that has the first version. */
async function pushSecond(first: Digest, second: Digest): Promise<number> {
  await using registry = await startRegistry();
  const client = new RegistryClient({ registry: registry.host });
  const store = await openDiskStore(join(work, 'store'));
  try {
    await push(store, first, { client, repository: 'bench', tag: 'v1' });
    return (await push(store, second, { client, repository: 'bench', tag: 'v2' })).bytesSent;
  } finally {
    client.close();
    await store.close();
  }
}

/** Eight different copies of the disk, each on 2 GiB: the content shifted by a byte, so that nothing is shared. */
async function measureLarge(before: string): Promise<void> {
  const large = join(work, 'large.raw');
  const handle = await open(large, 'w');
  const step = 2 * 1024 ** 3;
  await handle.truncate(8 * step);
  for (let copy = 0; copy < 8; copy += 1) {
    let at = copy * step + copy + 1;
    for await (const part of createReadStream(before, { highWaterMark: 1 << 20 })) {
      if (!isZero(part as Buffer)) await handle.write(part, 0, part.length, at);
      at += part.length;
    }
  }
  await handle.close();
  await fresh('store');
  const { seconds, peakMegabytes, answer } = await ours<StoredDisk>('put', large);
  console.log(`large disk: ${mega(answer.storedBytes)} stored in ${seconds.toFixed(1)} s`);
  lean(largePeak, peakMegabytes);
  const out = await ours('extract', answer.digest, join(work, 'large-out.raw'));
  lean('peak memory of extracting a disk of 16 GiB', out.peakMegabytes);
}

function faster(what: string, own: number, peer: string, other: number, atLeast: number): void {
  const ratio = other / own;
  printRow({
    what,
    value: `${own.toFixed(2)} s`,
    against: `${peer} ${other.toFixed(2)} s`,
    ratio,
    bar: `at least ${atLeast} times its speed`,
    met: ratio >= atLeast,
  });
}

function fewerBytes(what: string, own: number, peer: string, other: number, bar: string, most: number): void {
  printRow({
    what,
    value: mega(own),
    against: `${peer} ${mega(other)}`,
    ratio: own / other,
    bar,
    met: own <= most,
  });
}

function lean(what: string, megabytes: number): void {
  printRow({ what, value: `${megabytes.toFixed(0)} MB`, bar: memoryBar, met: megabytes <= 300 });
}

function best<T>(runs: readonly Run<T>[]): Run<T> {
  return runs.reduce((fastest, run) => (run.seconds < fastest.seconds ? run : fastest));
}

function mega(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}

async function fresh(...names: string[]): Promise<void> {
  for (const name of names) await rm(join(work, name), { recursive: true, force: true });
}

/** Runs the store in a process of its own; its start is part of the time, as it is for the others. */
async function ours<T>(...args: string[]): Promise<Run<T>> {
  const start = performance.now();
  const child = spawn(process.execPath, [childFile, join(work, 'store'), ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.on('data', (part) => {
    text += part;
  });
  await new Promise((resolve) => child.once('close', resolve));
  const seconds = (performance.now() - start) / 1000;
  const { peakKilobytes, ...answer } = JSON.parse(text);
  if ('error' in answer) throw new Error(JSON.stringify(answer.error));
  return { seconds, peakMegabytes: peakKilobytes / 1024, answer };
}

async function casync(command: 'make', disk: string, name: string): Promise<number> {
  await mkdir(join(work, 'casync'), { recursive: true });
  const store = `--store=${join(work, 'casync', 'chunks.castr')}`;
  return timed('casync', [command, store, join(work, 'casync', `${name}.caibx`), disk]);
}

async function timed(tool: string, args: readonly string[]): Promise<number> {
  const start = performance.now();
  await runTool(tool, args);
  return (performance.now() - start) / 1000;
}

async function folderBytes(name: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(join(work, name), { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return sum;
}

async function readThrough(path: string): Promise<void> {
  for await (const _ of createReadStream(path, { highWaterMark: 1 << 22 }));
}

async function makeDisk(tar: string, path: string): Promise<void> {
  const features = 'hash_seed=12345678-1234-1234-1234-123456789abc,lazy_itable_init=0,root_owner=0:0';
  await runTool(
    await requireTool('mke2fs'),
    [
      '-q',
      '-t',
      'ext4',
      '-F',
      '-b',
      '4096',
      '-m',
      '0',
      '-E',
      features,
      '-U',
      '12345678-1234-1234-1234-123456789abc',
      '-d',
      '-',
      path,
      diskSize,
    ],
    { stdin: createReadStream(tar), env: { SOURCE_DATE_EPOCH: epoch, E2FSPROGS_FAKE_TIME: epoch } },
  );
}

async function nodeTar(): Promise<string> {
  const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 16);
  const kept = join(cache, `node-${key}.tar`);
  if (existsSync(kept)) return kept;
  const tar = join(work, 'node.tar');
  const args = ['--variant=minbase', `--include=${packages.join(',')}`, 'trixie', tar, await machineMirror()];
  await runTool('mmdebstrap', args, { folder: work, env: { SOURCE_DATE_EPOCH: epoch, HOME: work } });
  await rename(tar, kept);
  return kept;
}

/**
 * Writes the archive again with another build of the component in the place of the old one: a byte more after
 * every 4000, so that, as after a new compilation, hardly a block stays, and everything behind it moves.
 */
async function changeComponent(from: string, to: string): Promise<Buffer> {
  const bytes = await readFile(from);
  const names = [`./${component}\0`, `${component}\0`];
  for (let at = 0; at < bytes.length; ) {
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8) || 0;
    const end = at + 512 + Math.ceil(size / 512) * 512;
    if (names.some((name) => bytes.toString('latin1', at, at + name.length) === name)) {
      const header = Buffer.from(bytes.subarray(at, at + 512));
      const content = rebuilt(bytes.subarray(at + 512, at + 512 + size));
      header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
      header.write('        ', 148, 'latin1');
      const checksum = header.reduce((sum, byte) => sum + byte, 0);
      header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
      const padding = Buffer.alloc(-content.length & 511);
      await writeFile(
        to,
        Buffer.concat([bytes.subarray(0, at), header, content, padding, bytes.subarray(end)]),
      );
      return content;
    }
    at = end;
  }
  throw new Error(`the archive has no ${component}`);
}

function rebuilt(old: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < old.length; at += 4000)
    parts.push(old.subarray(at, at + 4000), Buffer.from([at & 255]));
  return Buffer.concat(parts);
}
