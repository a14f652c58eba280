// Brings the programs that Imago needs to a machine whose release has them too old or not at all,
// without touching the system: Debian 13 packages from the machine's own mirror, checked against
// Debian's keys by apt, unpacked in a cache and started through their own ld.so.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { withWorkFolder } from '../files/work-folder.ts';
import { runTool } from '../process/run-tool.ts';
import { type GroupContents, type ToolGroup, toolGroups } from './packages.ts';
import { cacheFolders, makeCacheFolder } from './tools.ts';

const rules = 1;
const suite = 'trixie';
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const libraryFolders: Readonly<Record<string, { libraries: string; loader: string }>> = {
  amd64: { libraries: 'usr/lib/x86_64-linux-gnu', loader: 'ld-linux-x86-64.so.2' },
  arm64: { libraries: 'usr/lib/aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' },
};

export interface FetchToolsOptions {
  readonly group: ToolGroup;
  /** Defaults to the first of `cacheFolders()`. */
  readonly cacheFolder?: string;
  /** A Debian mirror's address. Defaults to the one that the machine's apt uses. */
  readonly mirror?: string | undefined;
  /** Looks for newer packages although the group is there already. */
  readonly refresh?: boolean;
  readonly signal?: AbortSignal;
}

export interface FetchedTools {
  /** Holds `bin/` and `share/`; may be given as IMAGO_TOOLS. */
  readonly folder: string;
  readonly packages: readonly FetchedPackage[];
  readonly fetched: boolean;
}

export interface FetchedPackage {
  readonly file: string;
  readonly sha256: string;
}

interface Manifest {
  readonly request: string;
  readonly packages: readonly FetchedPackage[];
}

/**
 * Makes a group of tools available and returns its folder. When it is there already, nothing is fetched
 * and no network is used, unless `refresh` is set. Two concurrent calls both work, and the result of the
 * first to finish is kept.
 */
export async function fetchTools(options: FetchToolsOptions): Promise<FetchedTools> {
  const contents: GroupContents = toolGroups[options.group];
  const cache = options.cacheFolder ?? cacheFolders()[0] ?? '/var/cache/imago';
  const base = join(cache, 'tools', options.group);
  const current = join(base, 'current');
  const architecture = await printedLine('dpkg', ['--print-architecture'], options.signal);
  const request = sha256(JSON.stringify([rules, suite, architecture, contents]));

  const present = await readManifest(current);
  if (present?.request === request && options.refresh !== true) {
    return { folder: current, packages: present.packages, fetched: false };
  }

  makeCacheFolder(cache);
  return withWorkFolder(base, async (work) => {
    const archives = await download(work, contents, architecture, options);
    const packages = await hashFiles(archives);
    const key = sha256(JSON.stringify([request, packages])).slice(0, 32);
    if (!existsSync(join(base, key, 'manifest.json'))) {
      const staged = join(work, 'staged');
      await unpackTools(staged, archives, packages, contents, architecture, options.signal);
      const manifest: Manifest = { request, packages };
      await writeFile(join(staged, 'manifest.json'), JSON.stringify(manifest, null, 2));
      await keepFirst(staged, join(base, key));
    }
    const previous = await realpath(current).catch(() => join(base, key));
    await symlink(key, join(work, 'current'));
    await rename(join(work, 'current'), current);
    await removeOld(base, [key, relative(base, previous)]);
    return { folder: current, packages, fetched: true };
  });
}

async function download(
  work: string,
  contents: GroupContents,
  architecture: string,
  options: FetchToolsOptions,
): Promise<string> {
  if (!existsSync(keyring)) {
    throw new ImagoError('tool-missing', `${keyring} is missing: packages could not be checked`, {
      hint: 'Install the package debian-archive-keyring.',
    });
  }
  const mirror = options.mirror ?? (await machineMirror(options.signal));
  const archives = join(work, 'cache', 'archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  await mkdir(join(work, 'state', 'lists', 'partial'), { recursive: true });
  await writeFile(join(work, 'status'), '');
  await writeFile(
    join(work, 'debian.sources'),
    `Types: deb\nURIs: ${mirror}\nSuites: ${suite}\nComponents: main\nArchitectures: ${architecture}\nSigned-By: ${keyring}\n`,
  );
  const settings = {
    'Dir::State': join(work, 'state'),
    'Dir::State::status': join(work, 'status'),
    'Dir::Cache': join(work, 'cache'),
    'Dir::Cache::archives': archives,
    'Dir::Etc::sourcelist': join(work, 'debian.sources'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'APT::Architecture': architecture,
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled': 'false',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Acquire::Retries': '3',
  };
  const file = join(work, 'apt.conf');
  await writeFile(
    file,
    `#clear APT::Architectures;\n${Object.entries(settings)
      .map(([key, value]) => `${key} "${value}";\n`)
      .join('')}`,
  );
  const run = { signal: options.signal, env: { ...proxySettings(), APT_CONFIG: file } };
  await runTool('apt-get', ['update', '-q', '--error-on=any'], run);
  await runTool('apt-get', ['install', '-q', '-y', '--download-only', '--', ...contents.packages], run);
  return archives;
}

/** How this machine reaches the network; apt takes it from the environment as well as from its settings. */
export function proxySettings(): Record<string, string> {
  const found = ['http_proxy', 'https_proxy', 'no_proxy'].map(
    (name) => [name, process.env[name] ?? ''] as const,
  );
  return Object.fromEntries(found.filter(([, value]) => value !== ''));
}

/** The site from which this machine's apt takes the main part of its own Debian release. */
export async function machineMirror(signal?: AbortSignal): Promise<string> {
  const release = /^VERSION_CODENAME=(.*)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  const format = '$(CREATED_BY) $(COMPONENT) $(RELEASE) $(SITE)';
  const { stdout } = await runTool('apt-get', ['indextargets', '--format', format], { signal });
  for (const line of stdout.toString('utf8').split('\n')) {
    const [kind, component, suiteName, site] = line.split(' ');
    if (kind === 'Packages' && component === 'main' && suiteName === release && site !== undefined)
      return site;
  }
  throw new ImagoError('tool-missing', 'apt on this machine names no mirror of a Debian release', {
    hint: 'Give the address of a Debian mirror with --mirror or IMAGO_DEBIAN_MIRROR.',
  });
}

/** Unpacks packages and makes `bin/` and `share/` of a group from them, in `staged`. */
export async function unpackTools(
  staged: string,
  archives: string,
  packages: readonly FetchedPackage[],
  contents: GroupContents,
  architecture: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const root = join(staged, 'root');
  await mkdir(root, { recursive: true });
  for (const { file } of packages) {
    await runTool('dpkg-deb', ['--extract', '--', join(archives, file), root], { signal });
  }
  await mkdir(join(staged, 'bin'));
  for (const program of contents.programs) await addProgram(staged, program, architecture);
  await mkdir(join(staged, 'share'));
  for (const [name, path] of Object.entries(contents.files)) {
    await stat(join(root, path));
    await symlink(join('..', 'root', path), join(staged, 'share', name));
  }
}

async function addProgram(staged: string, program: string, architecture: string): Promise<void> {
  const places = ['usr/bin', 'usr/sbin', 'bin', 'sbin'].map((folder) => `${folder}/${program}`);
  const place = places.find((path) => existsSync(join(staged, 'root', path)));
  if (place === undefined) throw new ImagoError('internal', `the packages hold no program ${program}`);
  const wrapper = join(staged, 'bin', program);
  if (!(await isDynamic(join(staged, 'root', place)))) {
    await symlink(join('..', 'root', place), wrapper);
    return;
  }
  const folders = libraryFolders[architecture];
  if (folders === undefined) {
    throw new ImagoError(
      'tool-missing',
      `Imago's tools are not prepared for the architecture ${architecture}`,
    );
  }
  const script = `#!/bin/sh
root="\${0%/*}/../root"
libraries="$root/${folders.libraries}"
exec "$libraries/${folders.loader}" --library-path "$libraries" "$root/${place}" "$@"
`;
  await writeFile(wrapper, script);
  await chmod(wrapper, 0o755);
}

async function isDynamic(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0);
    return buffer.subarray(0, bytesRead).includes('ld-linux');
  } finally {
    await handle.close();
  }
}

async function keepFirst(staged: string, place: string): Promise<void> {
  try {
    await rename(staged, place);
  } catch (error) {
    if (!existsSync(join(place, 'manifest.json'))) throw error;
  }
}

async function removeOld(base: string, keep: readonly string[]): Promise<void> {
  for (const name of await readdir(base)) {
    if (!/^[0-9a-f]{32}$/.test(name) || keep.includes(name)) continue;
    await rm(join(base, name), { recursive: true, force: true });
  }
}

async function readManifest(folder: string): Promise<Manifest | undefined> {
  const text = await readFile(join(folder, 'manifest.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Manifest);
}

async function hashFiles(folder: string): Promise<FetchedPackage[]> {
  const result: FetchedPackage[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb')).sort()) {
    if (!(await lstat(join(folder, file))).isFile()) continue;
    result.push({ file, sha256: sha256(await readFile(join(folder, file))) });
  }
  return result;
}

async function printedLine(
  program: string,
  args: string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  return (await runTool(program, args, { signal })).stdout.toString('utf8').trim();
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
