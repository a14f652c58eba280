// Gets Kubernetes binaries, and etcd, and stores them outside of the tree by version: from a given directory, else from
// a given download address, else compiled once through the Go module proxy.
// Usage: node scripts/get-kubernetes.ts VERSION… [--program NAME]… [--from FOLDER] [--url ADDRESS] [--work FOLDER]
//          [--link PATH]…   makes PATH a link to the stored binaries, for recipes that expect them there
//        node scripts/get-kubernetes.ts --cache   prints where they are stored
//        node scripts/get-kubernetes.ts ETCD-VERSION --program etcd …   (etcd has its own version numbers)
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { contentFolder } from '../src/build/content/content-folder.ts';
import { createDownloader } from '../src/build/inputs/download.ts';
import { ensureImagoError, ImagoError } from '../src/domain/error/imago-error.ts';
import { parseNumber } from '../src/domain/image/version-number.ts';
import { withFileLock } from '../src/host/files/file-lock.ts';
import { withWorkFolder } from '../src/host/files/work-folder.ts';
import { type RunResult, runTool } from '../src/host/process/run-tool.ts';
import { cacheFolders, makeCacheFolder } from '../src/host/tools/tools.ts';

export const kubernetesPrograms = [
  'kubelet',
  'kubectl',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubeadm',
  'pause',
  'etcd',
] as const;
export type KubernetesProgram = (typeof kubernetesPrograms)[number];

export interface GetKubernetesOptions {
  /** As in `1.34.2`, of the module that has the programs: etcd comes alone. */
  readonly version: string;
  readonly programs: readonly KubernetesProgram[];
  /** A folder with `VERSION/PROGRAM`, `vVERSION/bin/linux/MACHINE/PROGRAM` or `PROGRAM-VERSION`. */
  readonly from?: string | undefined;
  /**
   * The address of a site that has `vVERSION/bin/linux/MACHINE/PROGRAM`, as dl.k8s.io does. For etcd one that has
   * `vVERSION/etcd-vVERSION-linux-MACHINE.tar.gz`, as its releases on GitHub do.
   */
  readonly url?: string | undefined;
  /** Where Go keeps modules and its cache while building; a folder that goes afterwards when absent. */
  readonly work?: string | undefined;
  readonly cacheFolder?: string | undefined;
  readonly log?: (line: string) => void;
}

export interface KubernetesBinary {
  readonly program: KubernetesProgram;
  readonly version: string;
  readonly path: string;
  readonly sha256: string;
}

const machines: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * The programs, each checked against the sha256 that was noted when it came. A second call is instant. Throws
 * `input-missing` when they cannot be had in any of the three ways.
 */
export async function getKubernetes(options: GetKubernetesOptions): Promise<readonly KubernetesBinary[]> {
  parseNumber(options.version);
  const cache = kubernetesFolder(options.cacheFolder);
  const folder = join(cache, options.version, machine());
  makeCacheFolder(options.cacheFolder ?? cacheFolders()[0] ?? '');
  await mkdir(folder, { recursive: true });
  return withFileLock(join(folder, 'lock'), { timeoutMs: Number.POSITIVE_INFINITY }, async () => {
    const missing: KubernetesProgram[] = [];
    for (const program of options.programs) {
      const there =
        (await present(folder, program, options.version)) ?? (await takeOrDownload(folder, program, options));
      if (there === undefined) missing.push(program);
    }
    if (missing.length > 0) await withWorkFolder(cache, (work) => buildAll(work, folder, missing, options));
    // When it was last used decides which version goes first when the cache is full.
    const now = new Date();
    await utimes(join(cache, options.version), now, now);
    return Promise.all(options.programs.map((program) => required(folder, program, options.version)));
  });
}

function machine(): string {
  return machines[process.arch] ?? process.arch;
}

async function present(
  folder: string,
  program: KubernetesProgram,
  version: string,
): Promise<KubernetesBinary | undefined> {
  const path = join(folder, program);
  const noted = await readFile(`${path}.sha256`, 'utf8').catch(() => undefined);
  if (noted === undefined || !existsSync(path)) return undefined;
  const sha256 = await hashOf(path);
  return sha256 === noted.trim() ? { program, version, path, sha256 } : undefined;
}

async function required(
  folder: string,
  program: KubernetesProgram,
  version: string,
): Promise<KubernetesBinary> {
  const found = await present(folder, program, version);
  if (found !== undefined) return found;
  throw new ImagoError('input-missing', `${program} ${version} is not there although it was made.`);
}

async function takeOrDownload(
  folder: string,
  program: KubernetesProgram,
  { version, from, url, cacheFolder, log }: GetKubernetesOptions,
): Promise<KubernetesBinary | undefined> {
  const places = [
    `${version}/${program}`,
    `v${version}/bin/linux/${machine()}/${program}`,
    `${program}-${version}`,
  ];
  const given = places.map((place) => join(from ?? '/nonexistent', place)).find(existsSync);
  if (given !== undefined) {
    log?.(`taking ${given}`);
    await keep(given, folder, program);
  } else if (url !== undefined && program !== 'pause') {
    const packed = `etcd-v${version}-linux-${machine()}`;
    const file = program === 'etcd' ? `${packed}.tar.gz` : `bin/linux/${machine()}/${program}`;
    log?.(`fetching ${program} ${version}`);
    const cache = cacheFolder ?? cacheFolders()[0] ?? '';
    const downloads = createDownloader(cache, contentFolder(cache));
    const stored = await downloads.fetch({
      url: `${url.replace(/\/+$/, '')}/v${version}/${file}`,
      label: `${program} ${version}`,
    });
    if (program !== 'etcd') await keep(stored.path, folder, program);
    else
      await withWorkFolder(kubernetesFolder(cacheFolder), async (work) => {
        await runTool('tar', ['-xzf', stored.path, '-C', work, `${packed}/etcd`]);
        await keep(join(work, packed, 'etcd'), folder, program);
      });
  } else return undefined;
  return required(folder, program, version);
}

async function keep(source: string, folder: string, program: KubernetesProgram): Promise<void> {
  const target = join(folder, program);
  const beside = `${target}.${process.pid}.new`;
  try {
    await copyFile(source, beside);
    await chmod(beside, 0o755);
    const sha256 = await hashOf(beside);
    await rename(beside, target);
    await writeFile(`${target}.sha256`, `${sha256}\n`);
  } finally {
    await rm(beside, { force: true });
  }
}

async function buildAll(
  work: string,
  folder: string,
  programs: readonly KubernetesProgram[],
  options: GetKubernetesOptions,
): Promise<void> {
  const { version, log } = options;
  const own = options.work ?? join(work, 'go');
  const source = join(work, 'source');
  let env: Readonly<Record<string, string>> = {};
  const go: Go = (args) => runTool('go', args, { folder: source, env });
  try {
    for (const made of [own, source]) await mkdir(made, { recursive: true });
    env = {
      ...(await goSettings()),
      GOMODCACHE: join(own, 'mod'),
      GOCACHE: join(own, 'cache'),
      GOTOOLCHAIN: 'local',
      // Modules that can be written can also be removed, by an ordinary user too.
      GOFLAGS: '-mod=mod -modcacherw -buildvcs=false',
      CGO_ENABLED: '0',
      HOME: own,
    };
    log?.(`building ${programs.join(', ')} ${version}: this takes minutes, once`);
    await go(['mod', 'init', 'kubernetes-programs']);
    const bin = join(source, 'bin');
    if (programs.includes('etcd')) await buildEtcd(go, version, bin);
    else await buildKubernetes(go, version, programs, bin);
    for (const program of programs) await keep(join(bin, program), folder, program);
  } catch (cause) {
    const { message } = ensureImagoError(cause);
    throw new ImagoError('input-missing', `${programs.join(', ')} ${version} cannot be had: ${message}`, {
      cause,
      hint: 'Give a folder that has them with --from or IMAGO_KUBERNETES, or an address with --url.',
    });
  }
}

type Go = (args: readonly string[]) => Promise<RunResult>;

function buildFlags(stamps: readonly string[] = []): readonly string[] {
  const parallel = String(Math.min(4, availableParallelism()));
  return ['-trimpath', '-p', parallel, '-ldflags', ['-s', '-w', ...stamps].join(' ')];
}

async function buildEtcd(go: Go, version: string, bin: string): Promise<void> {
  const module = 'go.etcd.io/etcd/server/v3';
  await go(['mod', 'edit', `-require=${module}@v${version}`]);
  await go(['build', ...buildFlags(), '-o', join(bin, 'etcd'), module]);
}

/**
 * Kubernetes cannot be installed by `go install`: its module replaces others by directories that its archive does not
 * contain. The build's own module names their released versions instead.
 */
async function buildKubernetes(
  go: Go,
  version: string,
  programs: readonly KubernetesProgram[],
  bin: string,
): Promise<void> {
  const { stdout } = await go(['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`]);
  const { GoMod, Dir } = JSON.parse(stdout.toString('utf8')) as { GoMod: string; Dir: string };
  if (programs.includes('pause')) await buildPause(join(Dir, 'build/pause/linux/pause.c'), version, bin);
  const ofGo = programs.filter((program) => program !== 'pause');
  if (ofGo.length === 0) return;
  const text = await readFile(GoMod, 'utf8');
  const staging = [...text.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm)].map((match) => match[1] ?? '');
  const released = `v0.${version.slice('1.'.length)}`;
  const replaced = staging.map((name) => `-replace=${name}=${name}@${released}`);
  await go(['mod', 'edit', `-require=k8s.io/kubernetes@v${version}`, ...goVersion(text), ...replaced]);
  const [major, minor] = version.split('.');
  const stamp = (name: string, value: string | undefined) =>
    `-X k8s.io/component-base/version.${name}=${value}`;
  const stamps = [stamp('gitVersion', `v${version}`), stamp('gitMajor', major), stamp('gitMinor', minor)];
  const names = ofGo.map((program) => `k8s.io/kubernetes/cmd/${program}`);
  await go(['build', ...buildFlags(stamps), '-o', `${bin}/`, ...names]);
}

/** The program of the sandbox of pods, as its Makefile compiles it. */
async function buildPause(source: string, version: string, bin: string): Promise<void> {
  await mkdir(bin, { recursive: true });
  const flags = ['-Os', '-Wall', '-Werror', '-static', `-DVERSION=v${version}`];
  await runTool('gcc', [...flags, '-o', join(bin, 'pause'), source]);
}

/** Which proxy and checksum database this machine uses is its own setting. */
async function goSettings(): Promise<Readonly<Record<string, string>>> {
  const names = ['GOPROXY', 'GOSUMDB', 'GONOSUMDB', 'GOPRIVATE'];
  const { stdout } = await runTool('go', ['env', '-json', ...names], {
    env: { HOME: process.env.HOME ?? '/', PATH: `${process.env.PATH}:/usr/local/go/bin` },
  });
  return {
    ...(JSON.parse(stdout.toString('utf8')) as Record<string, string>),
    PATH: `${process.env.PATH}:/usr/local/go/bin`,
  };
}

function goVersion(text: string): readonly string[] {
  const found = /^go ([0-9.]+)$/m.exec(text)?.[1];
  return found === undefined ? [] : [`-go=${found}`];
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** Where all versions are kept, as `VERSION/MACHINE/PROGRAM`. */
export function kubernetesFolder(cacheFolder: string = cacheFolders()[0] ?? ''): string {
  return join(cacheFolder, 'kubernetes');
}

async function linkTo(folder: string, path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found !== undefined && !found.isSymbolicLink()) {
    throw new ImagoError('file-exists', `${path} is there already and is no link.`);
  }
  await rm(path, { force: true });
  await symlink(folder, path);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      program: { type: 'string', multiple: true },
      from: { type: 'string' },
      url: { type: 'string' },
      work: { type: 'string' },
      link: { type: 'string', multiple: true },
      cache: { type: 'boolean' },
    },
  });
  if (values.cache === true) return console.log(kubernetesFolder());
  const names = values.program ?? ['kubelet', 'kubectl'];
  const programs = kubernetesPrograms.filter((program) => names.includes(program));
  const unknown = names.find((name) => !kubernetesPrograms.some((program) => program === name));
  if (unknown !== undefined || positionals.length === 0) {
    const why = unknown === undefined ? 'no version is given' : `there is no program ${unknown}`;
    throw new ImagoError('usage-invalid', `${why}; there are ${kubernetesPrograms.join(', ')}`);
  }
  const { IMAGO_KUBERNETES, IMAGO_KUBERNETES_URL } = process.env;
  for (const version of positionals) {
    const found = await getKubernetes({
      ...{ version, programs, work: values.work, log: (line) => console.error(line) },
      ...{ from: values.from ?? IMAGO_KUBERNETES, url: values.url ?? IMAGO_KUBERNETES_URL },
    });
    for (const path of values.link ?? []) await linkTo(kubernetesFolder(), path);
    for (const { program, path, sha256 } of found)
      console.log(JSON.stringify({ program, version, path, sha256 }));
  }
}

if (import.meta.main) {
  try {
    await main();
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    console.error(`get-kubernetes: ${error.message}${error.hint === undefined ? '' : `\n  ${error.hint}`}`);
    process.exitCode = error.exitCode;
  }
}
