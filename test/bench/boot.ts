// Measures boots on real machines, one after the other in one run: node test/bench/boot.ts. Imago's image against the
// status quo, against its own disk without an agent, and against cloud-init; then the agent and the machines
// themselves. Draws docs/images/boot-timelines.svg. Two processors are enough; a busy computer makes all of it slower
// alike, so read ratios, and the seconds of QEMU's own processor time beside them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flattenDisk } from '../../src/providers/local/disk/machine-disk.ts';
import { openMachineHost } from '../../src/providers/local/host/open.ts';
import type { MachineImage } from '../support/cloud-init-machine.ts';
import { startFileServer } from '../support/file-server.ts';
import { makeBootImages, withoutAgent } from './boot-images.ts';
import { startBootMirror } from './boot-mirror.ts';
import { drawBoots, type PictureBoot } from './boot-picture.ts';
import { type BootedMachine, type BootTimes, bootMachine } from './boot-run.ts';
import { measureAgent } from './machine-agent.ts';
import { measureMachineDisk } from './machine-disk.ts';
import { printRow } from './row.ts';

/** The computer is slower at some times than at others by a third: each kind has many chances at the same times. */
const turns = 8;
const picture = join(import.meta.dirname, '../../docs/images/boot-timelines.svg');

const folder = await mkdtemp(join(tmpdir(), 'imago-boot-'));
const server = await startFileServer();
const mirror = await startBootMirror();
const host = await openMachineHost({ folder: join(folder, 'host'), socketFolder: join(folder, 's') });
try {
  await measure();
} finally {
  await host.close({ leaveRunning: false, deadlineMs: 1000 });
  await mirror.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const images = await makeBootImages(folder, server, mirror);
  const first = await bootMachine(host, images.own, { folder, id: 'own', by: 'report' });
  await measureAgent(host, first.id);
  await measureMachineDisk(images.own.disk, folder);
  const floor = await withoutItsAgent(first, images.own);

  const own: BootTimes[] = [];
  const floors: Attempt[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    own.push(await bootOnce(images.own, `own-${turn}`, 'report'));
    floors.push(await attempt(floor, `floor-${turn}`));
  }
  const bakedBoots = [await attempt(images.baked, 'baked-1'), await attempt(images.baked, 'baked-2')];
  const statusQuo = await attempt(images.statusQuo, 'status-quo');

  const [mine, bare, baked] = [fastest(own), fastest(floors), fastest(bakedBoots)];
  compare(
    'boot to ready',
    mine,
    'status quo: generic Debian, cloud-init, packages at first boot',
    statusQuo,
    0.2,
  );
  compare('boot to ready', mine, 'the same disk configured already, without an agent', bare, 1.15);
  compare('boot to ready', mine, 'our own baked image configured by cloud-init', baked, 0.45);
  await measureThree(images.own, mine);
  await draw([
    { title: 'Status quo: generic Debian, cloud-init installs packages at first boot', times: statusQuo },
    { title: 'The same components baked in, configured by cloud-init', times: baked },
    { title: 'Imago’s image, configured by its agent', times: mine },
    { title: 'The same disk, configured already, without an agent', times: bare },
  ]);
}

/** A boot, or why there is none: its rows then say so and count as missed. */
type Attempt = BootTimes | Error;

/** The disk of a node that is ready, as an image whose machines start the same services with no agent. */
async function withoutItsAgent({ id, disk }: BootedMachine, image: MachineImage): Promise<MachineImage> {
  const { exitCode, stderr } = await host.runCommand(id, withoutAgent, { timeoutMs: 600_000 });
  if (exitCode !== 0) throw new Error(`the agent could not be taken away: ${stderr}`);
  await host.stop(id, { deadlineMs: 600_000 });
  const flat = join(folder, 'floor.raw');
  await flattenDisk(disk, flat, new AbortController().signal);
  await host.remove(id);
  return { ...image, disk: flat };
}

async function attempt(image: MachineImage, id: string): Promise<Attempt> {
  try {
    return await bootOnce(image, id, 'console');
  } catch (error) {
    await host.remove(id);
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Boots one machine alone, and takes it away again. */
async function bootOnce(image: MachineImage, id: string, by: 'report' | 'console'): Promise<BootTimes> {
  const { times } = await bootMachine(host, image, { folder, id, by });
  await host.kill(id);
  await host.remove(id);
  console.error(`${id}: ${describe(times)}`);
  return times;
}

async function measureThree(image: MachineImage, one: Attempt): Promise<void> {
  const ids = ['three-1', 'three-2', 'three-3'];
  const all = await Promise.all(ids.map((id) => bootMachine(host, image, { folder, id, by: 'report' })));
  const ready = Math.max(...all.map(({ times }) => times.ready));
  const cpu = all.reduce((sum, { times }) => sum + times.cpu, 0);
  compare('three machines at once, until the last one is ready', { ready, cpu }, 'one alone', one, 3.2);
}

/** The fastest: whatever else the computer does only ever adds time. One that failed makes the whole fail. */
function fastest(boots: readonly Attempt[]): Attempt {
  const times: BootTimes[] = [];
  for (const boot of boots) {
    if (boot instanceof Error) return boot;
    times.push(boot);
  }
  times.sort((a, b) => a.ready - b.ready);
  return times[0] ?? new Error('nothing was measured');
}

type Measured = Pick<BootTimes, 'ready' | 'cpu'>;

function compare(what: string, own: Measured | Error, peer: string, other: Attempt, most: number): void {
  const measured = !(own instanceof Error) && !(other instanceof Error);
  const ratio = measured ? own.ready / other.ready : undefined;
  printRow({
    ...{ what, value: describe(own), against: `${peer}: ${describe(other)}`, ...(ratio && { ratio }) },
    ...{ bar: `at most ${most} times`, met: ratio !== undefined && ratio <= most },
  });
}

function describe(boot: Measured | Error): string {
  if (boot instanceof Error) return `not measured: ${boot.message.split('\n')[0]}`;
  return `${boot.ready.toFixed(1)} s (${boot.cpu.toFixed(1)} s of processor time)`;
}

/** Only whole pictures are drawn. */
async function draw(boots: readonly { readonly title: string; readonly times: Attempt }[]): Promise<void> {
  const drawn: PictureBoot[] = [];
  for (const { title, times } of boots) if (!(times instanceof Error)) drawn.push({ title, times });
  if (drawn.length === boots.length) await writeFile(picture, drawBoots(drawn));
  else console.error('The picture is left as it was: not everything was measured.');
}
