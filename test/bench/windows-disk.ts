// Measures the reading of Windows disks: node test/bench/windows-disk.ts. The volumes are made here, in memory where the
// host has a file system for that.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { openNtfs } from '../../src/disk/ntfs/reader.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { makeReleaseNotes } from '../../src/inventory/notes/release-notes.ts';
import { renderReleaseNotes } from '../../src/inventory/notes/render.ts';
import { readInventory } from '../../src/inventory/read-inventory.ts';
import { cycloneDxSbom } from '../../src/inventory/sbom/cyclonedx.ts';
import { spdxSbom } from '../../src/inventory/sbom/spdx.ts';
import { sampleSubject } from '../support/inventory.ts';
import { fillNtfs } from '../support/ntfs-volume.ts';
import { makeWindowsDisk } from '../support/windows-disk.ts';
import { printRow } from './row.ts';

interface Measured {
  readonly entries: number;
  readonly seconds: number;
  readonly megabytes: number;
}

const rounds = 5;

if (process.argv[2] === 'read') console.log(JSON.stringify(await readVolume(process.argv[3] ?? '')));
else await measure();

async function measure(): Promise<void> {
  await fetchTools({ group: 'windows' });
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'imago-bench-'));
  try {
    await measureVolume(folder, 20_000, 'at most 0.2 s', 0.2, Number.POSITIVE_INFINITY);
    await measureVolume(folder, 300_000, 'at most 3 s and 200 MB', 3, 200);
    await measureRecords(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureVolume(
  folder: string,
  count: number,
  bar: string,
  seconds: number,
  megabytes: number,
): Promise<void> {
  const volume = join(folder, 'volume');
  const tree = join(folder, 'tree');
  for (let index = 0; index < count; index += 1) {
    const place = join(tree, 'Windows', 'WinSxS', `folder-${index % 500}`);
    if (index < 500) await mkdir(place, { recursive: true });
    await writeFile(join(place, `amd64_component-${index}.dll`), 'x'.repeat(index % 300));
  }
  await fillNtfs(volume, tree, join(folder, 'wim'), { megabytes: Math.max(100, count / 250) });
  await rm(tree, { recursive: true });
  const runs = Array.from({ length: rounds }, () => readApart(volume)).sort((a, b) => a.seconds - b.seconds);
  const middle = runs[Math.floor(rounds / 2)] ?? { entries: 0, seconds: Infinity, megabytes: Infinity };
  printRow({
    what: `reading ${count} files of an NTFS volume: processor time, peak memory`,
    value: `${middle.seconds.toFixed(2)} s, ${Math.round(middle.megabytes)} MB`,
    bar,
    met: middle.entries > count && middle.seconds <= seconds && middle.megabytes <= megabytes,
  });
}

/** In a process of its own, as `imago image inspect` reads disks. */
function readApart(volume: string): Measured {
  const flags = ['--max-semi-space-size=8', '--heap-growing-percent=50'];
  const out = execFileSync(process.execPath, [...flags, import.meta.filename, 'read', volume]);
  return JSON.parse(out.toString('utf8')) as Measured;
}

async function readVolume(path: string): Promise<Measured> {
  const source = await openFileSource(path);
  const before = process.cpuUsage();
  const reader = await openNtfs(source);
  let entries = 0;
  for await (const _ of reader.walk()) entries += 1;
  const { user, system } = process.cpuUsage(before);
  await source.close();
  // The usage that the kernel reports for a process counts the memory of the one that started it.
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  const megabytes = Number(peak) / 1024;
  return { entries, seconds: (user + system) / 1e6, megabytes };
}

async function measureRecords(folder: string): Promise<void> {
  const source = await openFileSource(await makeWindowsDisk(folder, 'disk'));
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    const inventory = await readInventory(source);
    const notes = makeReleaseNotes({ ...sampleSubject, createdAt: sampleSubject.created, inventory });
    renderReleaseNotes(notes);
    JSON.stringify([cycloneDxSbom(inventory, sampleSubject), spdxSbom(inventory, sampleSubject)]);
    times.push((performance.now() - started) / 1000);
  }
  await source.close();
  const middle = times.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Infinity;
  printRow({
    what: 'inventory, notes and both SBOMs of the Windows fixture',
    value: `${middle.toFixed(2)} s`,
    bar: 'at most 5 s',
    met: middle <= 5,
  });
}
