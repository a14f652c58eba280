// Measures builds of the example node image against mmdebstrap alone and mkosi, in one run on one machine, as
// ratios: node test/bench/image-build.ts. Ours is what a user waits for: `imago build` of the packed product, from the
// recipe to a version with its notes, SBOMs and signature.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { getKubernetes, kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { nodePackages } from '../../src/build/lock/rules.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools, machineMirror, proxySettings } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders } from '../../src/host/tools/tools.ts';
import { describeDisk, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import type { BuildOutcome } from '../support/build-child.ts';
import { writeContainerImage } from '../support/container-image.ts';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';
import { layOutPacked } from '../support/packed-layout.ts';
import { type Mkosi, openMkosi } from './mkosi.ts';
import { printRow, printSkipped, reasonOf } from './row.ts';

const examples = resolve(import.meta.dirname, '../../examples');
const version = '1.35.4';
const nodeNames = ['containerd', 'runc', 'containernetworking-plugins', 'iptables'];
/** Of a program that was compiled anew nothing stays, and nothing can be pressed together. */
const toolBytes = 10_000_000;
/** Of a changed component, each a new one: the best counts, for the machine is shared. */
const changes = 3;

interface Built {
  readonly image: string;
  readonly version: string;
  readonly digest: Digest;
  readonly reused: boolean;
  readonly seconds: number;
}

const cache = cacheFolders()[0] ?? '';
const identical = 'two builds of one lock, empty caches, other folder and user, a day apart by the clock';

await mkdir(join(cache, 'bench'), { recursive: true });
const work = await mkdtemp(join(cache, 'bench', 'build-'));
const packed = layOutPacked();
const home = join(work, 'state');
const env = {
  ...process.env,
  IMAGO_HOME: home,
  IMAGO_CACHE: join(work, 'cache'),
  IMAGO_TOOLS: join(cache, 'tools', 'disk', 'current'),
};
try {
  await fetchTools({ group: 'disk' });
  await getKubernetes({ version, programs: ['kubelet', 'kubectl'], log: (line) => console.error(line) });
  await imago('up');
  await imago('keys', 'create');
  await measure();
} finally {
  await imago('down');
  packed.remove();
  await rm(work, { recursive: true, force: true });
}

async function imago(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await collect(
    spawn(packed.launcher, words, { env, cwd: work, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  if (code !== 0) throw new Error(`imago ${words.join(' ')} ended with ${code}: ${out}${err}`);
  return out;
}

async function build(file: string): Promise<Built> {
  const start = performance.now();
  const out = await imago('build', file, '--provider', 'local', '--json');
  const seconds = (performance.now() - start) / 1000;
  return { ...(JSON.parse(out) as Omit<Built, 'seconds'>), seconds };
}

async function measure(): Promise<void> {
  const recipe = await writeRecipe(join(work, 'recipes'));
  const text = await readFile(recipe, 'utf8');
  const floor = await mmdebstrap();
  const cold = await build(recipe);
  atMost('cold build of the example node image', cold.seconds, 'mmdebstrap alone', floor, 1.3);

  const same = await build(recipe);
  if (!same.reused) throw new Error('a build of the same recipe made another version');
  limit('nothing changed', same.seconds, 0.7, 'at most 0.7 s');

  await build(await change(recipe, text, '0'));
  const changed: number[] = [];
  for (let round = 1; round <= changes; round += 1) {
    changed.push((await build(await change(recipe, text, String(round)))).seconds);
  }
  const most = Math.max(8, cold.seconds * 0.08);
  const bar = 'at most 8 s, or 8 % of the cold build';
  limit(`one component in the middle changed (best of ${changes})`, Math.min(...changed), most, bar);

  const withPackage = (await readFile(recipe, 'utf8')).replace(
    /\ncomponents:/,
    '\npackages:\n  - jq\ncomponents:',
  );
  await writeFile(recipe, withPackage);
  const added = await build(recipe);
  atMost('one package added', added.seconds, 'our cold build', cold.seconds, 0.35);

  await writeFile(recipe, text);
  await measureIdentical(recipe, cold);
  await measureMkosi({
    cold: cold.seconds,
    same: same.seconds,
    changed: Math.min(...changed),
    added: added.seconds,
  });
}

/** The example node image for one Kubernetes version, with a container image on its disk. */
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
  const text = (await readFile(file, 'utf8')).replace(
    /\nmatrix:\n {2}kubernetes:\n( {4}- .*\n)+/,
    `\nkubernetes: ${version}\n`,
  );
  await writeFile(file, `${text}${images}`);
  return file;
}

/** Another build of a program, first of the components. */
async function change(recipe: string, text: string, number: string): Promise<string> {
  const file = `tool-${number}`;
  await writeFile(join(recipe, '..', file), randomBytes(toolBytes));
  const component = `  - name: tool\n    version: 1.0.${number}\n    from:\n      file: ${file}\n    to: /usr/bin/tool\n`;
  await writeFile(recipe, text.replace(/\ncomponents:\n/, `\ncomponents:\n${component}`));
  return recipe;
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
  if (!canBeOrdinary) {
    printSkipped(identical, 'identical bytes', 'needs root, to be another user as well');
    return;
  }
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
      cache: join(user.home, 'cache'),
      store: join(user.home, 'store'),
      aheadMs: 86_400_000,
      clockLibrary: library,
      withAgent: true,
    };
    const [program, ...args] = user.node('test/support/build-child.ts', JSON.stringify(job));
    const { out } = await collect(spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] }));
    const again = JSON.parse(out) as BuildOutcome;
    const met = again.diskDigest === (await diskDigest(cold.digest));
    const value = met ? 'identical' : 'different';
    printRow({ what: identical, value, bar: 'identical bytes, with a container image on the disk', met });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function diskDigest(digest: Digest): Promise<Digest> {
  const store = await openDiskStore(join(home, 'store'));
  try {
    return (await describeDisk(store, digest)).sha256;
  } finally {
    await store.close();
  }
}

interface OwnSeconds {
  readonly cold: number;
  readonly same: number;
  readonly changed: number;
  readonly added: number;
}

async function measureMkosi(own: OwnSeconds): Promise<void> {
  const later = [
    { what: 'nothing changed', seconds: own.same, prepare: async () => undefined },
    {
      what: 'one component changed',
      seconds: own.changed,
      prepare: (mkosi: Mkosi) => mkosi.writeExtra('usr/bin/tool', randomBytes(toolBytes)),
    },
    { what: 'one package added', seconds: own.added, prepare: (mkosi: Mkosi) => mkosi.addPackage('jq') },
  ];
  let mkosi: Mkosi | undefined;
  try {
    mkosi = await openMkosi(work, [...nodePackages('x64'), ...nodeNames]);
    besideMkosi('cold build', own.cold, await mkosi.build());
  } catch (error) {
    await mkosi?.close();
    for (const what of ['cold build', ...later.map((round) => round.what)])
      printSkipped(`${what}, beside mkosi`, 'less', `mkosi does not build here: ${reasonOf(error)}`);
    return;
  }
  try {
    for (const { what, seconds, prepare } of later) {
      await prepare(mkosi);
      besideMkosi(what, seconds, await mkosi.build().catch(reasonOf));
    }
  } finally {
    await mkosi.close();
  }
}

/** A peer that built the same image a moment ago and now fails has lost, and the row tells how. */
function besideMkosi(what: string, own: number, other: number | string): void {
  const row = { what: `${what}, beside mkosi`, value: `${own.toFixed(2)} s`, bar: 'less' };
  if (typeof other === 'string') printRow({ ...row, against: `mkosi fails: ${other}`, met: true });
  else printRow({ ...row, against: `mkosi ${other.toFixed(1)} s`, ratio: own / other, met: own < other });
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
