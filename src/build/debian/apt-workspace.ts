// apt with a configuration, state and cache of its own: its solver and its checks of signatures are used, and
// nothing of the machine's apt is read or changed.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { checkWord, type Word } from '../../domain/value/word.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { runTool } from '../../host/process/run-tool.ts';
import { aptAnswers } from './apt-answers.ts';
import { indexDigest, isIndexCurrent } from './index-state.ts';

export interface DebianArchive {
  readonly suite: string;
  /** Debian's name of the architecture. */
  readonly machine: string;
  readonly mirror: string;
  /** Without one there are no security updates. */
  readonly securityMirror: string | undefined;
  readonly components: readonly string[];
  /** The file of the keys that the archive's index must be signed by. */
  readonly keyring: string;
  /** Whether apt follows the archive's redirects: only those of a mirror that the administrator chose. */
  readonly redirects: boolean;
}

export interface AptWorkspace {
  readonly archive: DebianArchive;
  /** The folder with the signed index, as apt checked it. */
  readonly lists: string;
  /**
   * Runs `apt-get` or `apt-cache`, as if the packages of `status` were installed. One call at a time. Only checked
   * words are operands, and a double dash is before them, so that none is an option.
   */
  run(
    program: 'apt-get' | 'apt-cache',
    args: readonly string[],
    operands: readonly AptOperand[],
    status?: string,
  ): Promise<string>;
  /** From now on these versions are the ones to take, where the archive has them. Takes the place of an earlier call. */
  prefer(packages: readonly ExactPackage[]): void;
}

export interface ExactPackage {
  readonly name: string;
  readonly version: string;
}

export type AptOperand =
  | Word<'package'>
  | `${Word<'package'>}=${Word<'package version'>}`
  | typeof essentialPackages;

/** apt's own pattern for the packages that every system must have. */
export const essentialPackages = '?essential';

/** Throws `input-invalid` for a name or a version that is not one of Debian's. */
export function aptOperand(name: string, version?: string): AptOperand {
  if (name === essentialPackages) return essentialPackages;
  const word = checkWord('package', name);
  return version === undefined ? word : `${word}=${checkWord('package version', version)}`;
}

export interface AptContext {
  readonly cacheFolder: string;
  /** Checks the addresses of the archive. */
  readonly guard: AddressGuard;
  readonly signal?: AbortSignal | undefined;
}

export const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Runs `work` with the newest index of the archive. Callers for one archive take turns. */
export async function withApt<T>(
  archive: DebianArchive,
  { cacheFolder, guard, signal }: AptContext,
  work: (apt: AptWorkspace) => Promise<T>,
): Promise<T> {
  if (!existsSync(archive.keyring)) {
    throw new ImagoError(
      'archive-untrusted',
      `${archive.keyring} is missing: packages could not be checked.`,
    );
  }
  const key = createHash('sha256').update(JSON.stringify(archive)).digest('hex').slice(0, 16);
  const folder = join(cacheFolder, 'apt', key);
  await mkdir(join(folder, 'state', 'lists', 'partial'), { recursive: true });
  await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true });
  const wait = { signal, timeoutMs: Number.POSITIVE_INFINITY };
  return withFileLock(join(folder, 'lock'), wait, async () => {
    const config = await writeConfig(folder, archive);
    const call = (program: string, args: readonly string[]) =>
      runTool(program, args, { signal, env: { APT_CONFIG: config } });
    const lists = join(folder, 'state', 'lists');
    if (!(await isIndexCurrent(lists, releaseAddresses(archive), { now: Date.now(), guard, signal }))) {
      await call('apt-get', ['update', '-qq', '--error-on=any']).catch((error: unknown) => {
        throw explainUpdate(error, archive);
      });
    }
    const index = (await indexDigest(lists)) ?? 'none';
    return work(await openWorkspace({ folder, config, archive, index, signal }));
  });
}

interface WorkspacePlace {
  readonly folder: string;
  /** The file of its configuration. */
  readonly config: string;
  readonly archive: DebianArchive;
  /** What the state of the index is known by. */
  readonly index: string;
  readonly signal?: AbortSignal | undefined;
}

/** With the index as it is. */
export async function openWorkspace(place: WorkspacePlace): Promise<AptWorkspace> {
  const { folder, config, archive, index, signal } = place;
  const answers = await aptAnswers(join(folder, 'answers'), index);
  let installed = '';
  let preferences = '';
  return {
    archive,
    lists: join(folder, 'state', 'lists'),
    async run(program, options, operands, status) {
      installed = status ?? installed;
      const args = [...options, ...(operands.length === 0 ? [] : ['--', ...operands])];
      const question = [program, ...args, installed, ...(preferences === '' ? [] : [preferences])];
      return answers.answer(question, async () => {
        await writeFile(join(folder, 'status'), installed);
        await writeFile(join(folder, 'preferences'), preferences);
        const env = { APT_CONFIG: config };
        const { exitCode, stdout, stderr } = await runTool(program, args, { signal, env, accept: [0, 100] });
        if (exitCode === 0) return stdout.toString('utf8');
        throw refused(program, stdout.toString('utf8'), stderr);
      });
    },
    prefer(packages) {
      preferences = packages
        .map(
          ({ name, version }) =>
            `Package: ${checkWord('package', name)}\nPin: version ${checkWord('package version', version)}\nPin-Priority: 1001\n`,
        )
        .join('\n');
    },
  };
}

/** apt tells what does not go together on its standard output. */
function refused(program: string, output: string, stderr: string): ImagoError {
  const unmet = unmetLines(output);
  const lines = [...unmet.slice(0, 10).map((line) => line.trim()), ...stderr.trim().split('\n').slice(-5)];
  return new ImagoError('tool-failed', `${program} failed (100): ${lines.join('; ')}`, {
    details: { program, blocked: blockedNames(unmet) },
  });
}

function unmetLines(output: string): readonly string[] {
  return output.split('\n').filter((line) => /^ .*(?:Depends|Breaks|Conflicts): \S/.test(line));
}

/** Of ` foo : Depends: libfoo (= 1.3) but 1.2 is to be installed` both names. */
function blockedNames(lines: readonly string[]): readonly string[] {
  const names = lines.flatMap((line) => {
    const [, who, whom] = /^ +(?:(\S+) : )?(?:Pre)?(?:Depends|Breaks|Conflicts): (\S+)/.exec(line) ?? [];
    return [who, whom].flatMap((name) => (name === undefined ? [] : [name.replace(/:.*$/, '')]));
  });
  return [...new Set(names)];
}

export interface ArchivePart {
  readonly address: string;
  readonly suites: readonly string[];
  readonly isSecurity: boolean;
}

/** Every word of an archive that reaches apt's configuration passes here. Throws `input-invalid`. */
export function archiveParts(archive: DebianArchive): readonly ArchivePart[] {
  const suite = checkWord('suite', archive.suite);
  checkWord('architecture', archive.machine);
  const { securityMirror } = archive;
  return [
    { address: checkWord('address', archive.mirror), suites: [suite, `${suite}-updates`], isSecurity: false },
    ...(securityMirror === undefined
      ? []
      : [{ address: checkWord('address', securityMirror), suites: [`${suite}-security`], isSecurity: true }]),
  ];
}

function releaseAddresses(archive: DebianArchive): readonly string[] {
  return archiveParts(archive).flatMap(({ address, suites }) =>
    suites.map((suite) => `${address.replace(/\/+$/, '')}/dists/${suite}/InRelease`),
  );
}

export async function writeConfig(folder: string, archive: DebianArchive): Promise<string> {
  const sources = archiveParts(archive).map(({ address, suites }) =>
    [
      'Types: deb',
      `URIs: ${address}`,
      `Suites: ${suites.join(' ')}`,
      `Components: ${archive.components.map((name) => checkWord('suite', name)).join(' ')}`,
      `Architectures: ${archive.machine}`,
      `Signed-By: ${archive.keyring}`,
      '',
    ].join('\n'),
  );
  const nothing = ['sourceparts', 'preferencesparts', 'trusted', 'trustedparts', 'main', 'parts'];
  const settings = {
    'APT::Architecture': archive.machine,
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::sourcelist': join(folder, 'debian.sources'),
    'Dir::Etc::preferences': join(folder, 'preferences'),
    ...Object.fromEntries(nothing.map((name) => [`Dir::Etc::${name}`, '/dev/null'])),
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': '',
    // apt counts itself as essential, and a node does not need it.
    'pkgCacheGen::ForceEssential': ',',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled': 'false',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Acquire::Retries': '3',
    'Acquire::Check-Valid-Until': 'true',
    'Acquire::http::AllowRedirect': String(archive.redirects),
    'Acquire::https::AllowRedirect': String(archive.redirects),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";`);
  const config = join(folder, 'apt.conf');
  const text = [
    '#clear APT::Architectures;',
    ...lines,
    `APT::Architectures { "${archive.machine}"; };`,
    '',
  ].join('\n');
  await writeFile(join(folder, 'debian.sources'), sources.join('\n'));
  await writeFile(join(folder, 'status'), '');
  await writeFile(join(folder, 'preferences'), '');
  if ((await readFile(config, 'utf8').catch(() => '')) !== text) await writeFile(config, text);
  return config;
}

function explainUpdate(error: unknown, archive: DebianArchive): unknown {
  if (!(error instanceof ImagoError) || error.code !== 'tool-failed') return error;
  if (
    /not signed|NO_PUBKEY|BADSIG|EXPKEYSIG|signatures? (?:couldn't|were invalid)|not valid yet|expired/i.test(
      error.message,
    )
  ) {
    return new ImagoError(
      'archive-untrusted',
      `The index of ${archive.mirror} cannot be trusted: ${error.message}`,
      {
        cause: error,
      },
    );
  }
  return new ImagoError(
    'download-failed',
    `The index of ${archive.suite} could not be fetched from ${archive.mirror}: ${error.message}`,
    { cause: error },
  );
}
