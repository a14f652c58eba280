// Brings programs of Kubernetes to this machine and keeps them outside of the tree, by version: from a folder that
// is given, else by download from an address that is given, else built once through the Go module proxy.
// Usage: node scripts/get-kubernetes.ts VERSION… [--program NAME]… [--from FOLDER] [--url ADDRESS] [--work FOLDER]
//          [--link PATH]…   makes PATH a link to where they are kept, for recipes that look for them there
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
import { createDownloader } from '../src/build/inputs/download.ts';
import { inputCache } from '../src/build/inputs/input-cache.ts';
import { ensureImagoError, ImagoError } from '../src/domain/error/imago-error.ts';
import { parseNumber } from '../src/domain/image/version-number.ts';
import { withFileLock } from '../src/host/files/file-lock.ts';
import { withWorkFolder } from '../src/host/files/work-folder.ts';
import { runTool } from '../src/host/process/run-tool.ts';
import { cacheFolders, makeCacheFolder } from '../src/host/tools/tools.ts';

export const kubernetesPrograms = [
  'kubelet',
  'kubectl',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
] as const;
export type KubernetesProgram = (typeof kubernetesPrograms)[number];

export interface GetKubernetesOptions {
  /** As in `1.34.2`. */
  readonly version: string;
  readonly programs: readonly KubernetesProgram[];
  /** A folder with `VERSION/PROGRAM`, `vVERSION/bin/linux/MACHINE/PROGRAM` or `PROGRAM-VERSION`. */
  readonly from?: string | undefined;
  /** The address of a site that has `vVERSION/bin/linux/MACHINE/PROGRAM`. */
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
  } else if (url !== undefined) {
    const address = `${url.replace(/\/+$/, '')}/v${version}/bin/linux/${machine()}/${program}`;
    log?.(`fetching ${program} ${version}`);
    const cache = cacheFolder ?? cacheFolders()[0] ?? '';
    const downloads = createDownloader(cache, inputCache(cache));
    const stored = await downloads.fetch({ url: address, label: `${program} ${version}` });
    await keep(stored.path, folder, program);
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

/**
 * Kubernetes cannot be installed by `go install`: its module replaces others by folders that its archive lacks.
 * A module of our own names their released versions instead.
 */
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
  const go = (args: readonly string[]) => runTool('go', args, { folder: source, env });
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
    await go(['mod', 'init', 'kubernetes-programs']);
    const { stdout } = await go(['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`]);
    const { GoMod } = JSON.parse(stdout.toString('utf8')) as { GoMod: string };
    const text = await readFile(GoMod, 'utf8');
    const staging = [...text.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging/gm)].map((match) => match[1] ?? '');
    const released = `v0.${version.slice('1.'.length)}`;
    const replaced = staging.map((name) => `-replace=${name}=${name}@${released}`);
    await go(['mod', 'edit', `-require=k8s.io/kubernetes@v${version}`, ...goVersion(text), ...replaced]);
    log?.(`building ${programs.join(', ')} ${version}: this takes minutes, once`);
    const [major, minor] = version.split('.');
    const say = (name: string, value: string | undefined) =>
      `-X k8s.io/component-base/version.${name}=${value}`;
    const stamps = [say('gitVersion', `v${version}`), say('gitMajor', major), say('gitMinor', minor)];
    const parallel = ['-p', String(Math.min(4, availableParallelism()))];
    const flags = ['-trimpath', ...parallel, '-ldflags', ['-s', '-w', ...stamps].join(' ')];
    const names = programs.map((program) => `k8s.io/kubernetes/cmd/${program}`);
    await go(['build', ...flags, '-o', `${join(source, 'bin')}/`, ...names]);
    for (const program of programs) await keep(join(source, 'bin', program), folder, program);
  } catch (cause) {
    const { message } = ensureImagoError(cause);
    throw new ImagoError('input-missing', `${programs.join(', ')} ${version} cannot be had: ${message}`, {
      cause,
      hint: 'Give a folder that has them with --from or IMAGO_KUBERNETES, or an address with --url.',
    });
  }
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
    },
  });
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
