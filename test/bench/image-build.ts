// Measures builds of the example node image against mmdebstrap alone and mkosi, in one run on one machine, as
// ratios: node test/bench/image-build.ts. Ours runs as in the daemon: one process, from the recipe to a version in
// the store, locking included.
import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { getKubernetes, kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { nodePackages } from '../../src/build/build-rules.ts';
import { createBuilder, type ImageBuilder } from '../../src/build/builder.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import type { Json } from '../../src/domain/json.ts';
import type { Lock } from '../../src/domain/lock.ts';
import { fetchTools, machineMirror, proxySettings } from '../../src/images/fetch-tools.ts';
import { runTool } from '../../src/images/run-tool.ts';
import { openDiskStore } from '../../src/images/store/disk-store.ts';
import { cacheFolders } from '../../src/images/tools.ts';
import type { SealedDisk } from '../../src/ports/provider-builder.ts';
import { type BuildOutcome, loadVariant } from '../support/build-child.ts';
import { writeContainerImage } from '../support/container-image.ts';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';
import { openMkosi } from './mkosi.ts';
import { printRow } from './row.ts';

const examples = resolve(import.meta.dirname, '../../examples');
const version = '1.34.2';
const nodeNames = ['containerd', 'runc', 'containernetworking-plugins', 'iptables'];
const call = { signal: new AbortController().signal, epoch: 0 };
const quiet = { progress() {}, log() {} };

interface Built extends SealedDisk {
  readonly seconds: number;
}

const bench = join(cacheFolders()[0] ?? '', 'bench');
await mkdir(bench, { recursive: true });
const work = await mkdtemp(join(bench, 'build-'));
try {
  await fetchTools({ group: 'disk' });
  await getKubernetes({ version, programs: ['kubelet', 'kubectl'], log: (line) => console.error(line) });
  await measure();
} finally {
  await rm(work, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const recipe = await writeRecipe(join(work, 'recipes'));
  const text = await readFile(recipe, 'utf8');
  const store = await openDiskStore(join(work, 'store'));
  const builder = createBuilder({ cacheFolder: join(work, 'cache'), store });
  try {
    const floor = await mmdebstrap();
    const cold = await build(builder, recipe);
    atMost('cold build of the example node image', cold.seconds, 'mmdebstrap alone', floor, 1.3);

    const same = await build(builder, recipe);
    limit('nothing changed', same.seconds, 0.7, 'at most 0.7 s');

    await writeFile(recipe, withTool(text, '1.0.0'));
    await build(builder, recipe);
    await writeFile(recipe, withTool(text, '1.0.1'));
    const changed = await build(builder, recipe);
    const most = Math.max(8, cold.seconds * 0.08);
    limit(
      'one component in the middle changed',
      changed.seconds,
      most,
      'at most 8 s, or 8 % of the cold build',
    );

    await writeFile(
      recipe,
      `${withTool(text, '1.0.1').replace(/\ncomponents:/, '\npackages:\n  - jq\ncomponents:')}`,
    );
    const added = await build(builder, recipe);
    atMost('one package added', added.seconds, 'our cold build', cold.seconds, 0.35);

    await writeFile(recipe, text);
    await measureIdentical(recipe, cold);
    await measureMkosi(cold.seconds, same.seconds, changed.seconds);
  } finally {
    await store.close();
  }
}

/** The example node image with a container image on its disk. */
async function writeRecipe(folder: string): Promise<string> {
  for (const name of ['common', 'node']) {
    const filter = (path: string) => !path.endsWith('/kubernetes');
    await cp(join(examples, name), join(folder, name), { recursive: true, filter });
  }
  await cp(join(kubernetesFolder(), version), join(folder, 'node', 'kubernetes', version), {
    recursive: true,
  });
  await writeContainerImage(join(folder, 'node', 'hello'), { tag: '1', greeting: 'hello' });
  const file = join(folder, 'node', 'imago.yaml');
  const images = 'images:\n  - name: example.test/hello:1\n    from:\n      layout: hello\n';
  await writeFile(file, `${await readFile(file, 'utf8')}${images}`);
  return file;
}

/** A program of 10 MB, first of the components. */
function withTool(text: string, number: string): string {
  const component = `  - name: tool\n    version: ${number}\n    from:\n      file: tool-${number}\n    to: /usr/bin/tool\n`;
  return text.replace(/\ncomponents:\n/, `\ncomponents:\n${component}`);
}

async function build(builder: ImageBuilder, file: string): Promise<Built> {
  for (const number of ['1.0.0', '1.0.1']) {
    const content = Buffer.alloc(10_000_000, `tool ${number} `);
    await writeFile(join(work, 'recipes', 'node', `tool-${number}`), content);
  }
  const start = performance.now();
  const recipe = await loadVariant({ recipe: file, kubernetes: version });
  const lock = (await builder.lock(recipe as unknown as Json, quiet, call)) as unknown as Lock;
  const request = { lock: lock as unknown as Json, lockDigest: lockDigest(lock) };
  const sealed = await builder.build(request, quiet, call);
  return { ...sealed, seconds: (performance.now() - start) / 1000 };
}

async function mmdebstrap(): Promise<number> {
  const start = performance.now();
  const names = [...nodePackages('x64'), ...nodeNames].join(',');
  const target = join(work, 'mmdebstrap.tar');
  await runTool(
    'mmdebstrap',
    ['--variant=minbase', `--include=${names}`, 'trixie', target, await machineMirror()],
    {
      folder: work,
      env: { ...proxySettings(), HOME: work },
    },
  );
  await rm(target);
  return (performance.now() - start) / 1000;
}

/** Once more with empty caches, in another folder, by an ordinary user whose clock is a day ahead. */
async function measureIdentical(recipe: string, cold: Built): Promise<void> {
  if (!canBeOrdinary) return;
  const folder = await mkdtemp('/tmp/imago-bench-');
  try {
    await runTool('chmod', ['755', folder]);
    const user = ordinaryUser(folder);
    const own = join(user.home, 'recipes');
    await cp(resolve(recipe, '../..'), own, { recursive: true });
    await runTool('chown', ['-R', `${user.uid}:${user.uid}`, user.home]);
    const { folder: judges } = await fetchTools({ group: 'judges' });
    const library = join(user.home, 'libfaketime.so.1');
    await cp(join(judges, 'root/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'), library);
    const job = {
      recipe: join(own, 'node/imago.yaml'),
      kubernetes: version,
      cache: join(user.home, 'cache'),
      store: join(user.home, 'store'),
      aheadMs: 86_400_000,
      clockLibrary: library,
    };
    const [program, ...args] = user.node('test/support/build-child.ts', JSON.stringify(job));
    const { out } = await collect(spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] }));
    const again = JSON.parse(out) as BuildOutcome;
    const met = again.diskDigest === cold.diskDigest;
    printRow({
      what: 'two builds, empty caches, other folder and user, a day apart',
      value: met ? 'identical' : 'different',
      bar: 'identical bytes',
      met,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureMkosi(cold: number, same: number, changed: number): Promise<void> {
  const mkosi = await openMkosi(work, [...nodePackages('x64'), ...nodeNames]);
  if (mkosi === undefined) return;
  try {
    beside('cold build', cold, await mkosi.build(), 'cold');
    beside('nothing changed', same, await mkosi.build(), 'again');
    await mkosi.writeExtra('usr/bin/tool', Buffer.alloc(10_000_000, 'tool '));
    beside('one component changed', changed, await mkosi.build(), 'one file');
  } catch (error) {
    console.error(`mkosi is left out: ${error instanceof Error ? error.message : error}`);
  } finally {
    await mkosi.close();
  }
}

function beside(what: string, own: number, other: number, their: string): void {
  const against = `mkosi, ${their} ${other.toFixed(1)} s`;
  printRow({
    what,
    value: `${own.toFixed(2)} s`,
    against,
    ratio: own / other,
    bar: 'less',
    met: own < other,
  });
}

function atMost(what: string, own: number, peer: string, other: number, most: number): void {
  const ratio = own / other;
  const bar = `at most ${most} times`;
  printRow({
    what,
    value: `${own.toFixed(1)} s`,
    against: `${peer} ${other.toFixed(1)} s`,
    ratio,
    bar,
    met: ratio <= most,
  });
}

function limit(what: string, seconds: number, most: number, bar: string): void {
  printRow({ what, value: `${seconds.toFixed(2)} s`, bar, met: seconds <= most });
}
