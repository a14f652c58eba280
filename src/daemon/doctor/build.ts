// Checks what builds need on this host: apt and a few tools, the Debian keys, and a working sandbox. The lock includes
// the tools that create the disk.
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheBytes, defaultCacheLimits } from '../../build/content/prune.ts';
import { debianKeyring } from '../../build/debian/apt-workspace.ts';
import { findNamespace } from '../../build/sandbox/namespace.ts';
import { canOverlay } from '../../build/sandbox/overlay.ts';
import { createSandbox, type Sandbox } from '../../build/sandbox/sandbox.ts';
import { ensureImagoError, type ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { type ProcessEnvironment, stateFolder } from '../../launcher/paths.ts';
import { buildCacheFolder } from '../providers/build-cache.ts';
import { type CheckResult, type DoctorCheck, missing, ok, warn } from './check.ts';
import { findProgram, installCommand, outputOf } from './probe.ts';

/** Access to the host. */
export interface BuildProbe {
  findProgram(name: string): string | undefined;
  outputOf(program: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined>;
  /** Returns the text of a file; `undefined` if it does not exist. */
  read(path: string): string | undefined;
  /** Throws `sandbox-missing` if this user cannot create one. */
  sandbox(uid: number): Sandbox;
}

const thisHost: BuildProbe = {
  findProgram,
  outputOf,
  read: (path) => (existsSync(path) ? readFileSync(path, 'latin1') : undefined),
  sandbox: (uid) => createSandbox(findNamespace(uid)),
};

const group = 'Builds';

/** The tools, by the Debian package that contains them. */
const programs: Readonly<Record<string, readonly string[]>> = {
  apt: ['apt-get', 'apt-cache'],
  dpkg: ['dpkg-deb'],
  tar: ['tar'],
  findutils: ['xargs'],
  'util-linux': ['unshare', 'setpriv', 'prlimit'],
  mount: ['mount'],
  bubblewrap: ['bwrap'],
  gpgv: ['gpgv'],
};

export function buildChecks(
  processEnv: ProcessEnvironment,
  probe: BuildProbe = thisHost,
): readonly DoctorCheck[] {
  return [
    {
      ...{ id: 'build.programs', group, title: 'Debian tools' },
      run: (signal) => checkPrograms(probe, signal),
    },
    { id: 'build.keyring', group, title: 'Debian keys', run: () => checkKeyring(probe) },
    {
      id: 'build.sandbox',
      group,
      title: 'Sandbox',
      run: (signal) => checkSandbox(processEnv, probe, signal),
    },
    { id: 'build.xz', group, title: 'xz', run: () => checkXz(probe) },
    { id: 'build.cache', group, title: 'Build cache', run: () => checkCache(processEnv) },
  ];
}

async function checkPrograms(probe: BuildProbe, signal: AbortSignal): Promise<CheckResult> {
  const lacking = Object.entries(programs).flatMap(([name, all]) =>
    all.filter((program) => probe.findProgram(program) === undefined).map((program) => ({ name, program })),
  );
  if (lacking.length > 0) {
    const packages = new Set(lacking.map(({ name }) => name));
    return missing(
      `Builds need ${lacking.map(({ program }) => program).join(', ')}, which this host does not have.`,
      installCommand([...packages].join(' ')),
    );
  }
  const tar = probe.findProgram('tar') ?? 'tar';
  if ((await probe.outputOf(tar, ['--version'], signal))?.includes('GNU tar') !== true) {
    return missing(`${tar} is not GNU tar: layers would not be reproducible.`, installCommand('tar'));
  }
  return ok('apt, dpkg-deb, GNU tar, unshare, setpriv, bwrap, and gpgv are installed.');
}

function checkKeyring(probe: BuildProbe): CheckResult {
  if (probe.read(debianKeyring) !== undefined) return ok(`At ${debianKeyring}.`);
  return missing(
    `${debianKeyring} does not exist: the signatures of the Debian archive cannot be verified.`,
    installCommand('debian-archive-keyring'),
  );
}

/** A script with the needs of a build: its own mounts, files of other owners, and a second stage. */
const trial = `
root=/tmp/root
mkdir -p "$root/usr/bin" "$root/proc"
chown 1:1 "$root"
mount --bind /usr "$root/usr"
for name in bin lib lib64; do ln -s "usr/$name" "$root/$name"; done
in_root true
`;

const limitsText: Readonly<Record<Sandbox['limitedBy'], string>> = {
  cgroup: 'A control group limits the memory and the processes of each run.',
  rlimits:
    'rlimits limit the memory of each process, and the processes. For a limit on the memory of a run, start the daemon where control groups are delegated, such as in a systemd unit with Delegate=yes and DelegateSubgroup=daemon.',
};

/** Runs the sandbox: no file shows what a kernel, a container, or a security module forbids. */
async function checkSandbox(
  processEnv: ProcessEnvironment,
  probe: BuildProbe,
  signal: AbortSignal,
): Promise<CheckResult> {
  let sandbox: Sandbox;
  try {
    sandbox = probe.sandbox(processEnv.uid);
  } catch (thrown) {
    const { message, hint } = ensureImagoError(thrown);
    return missing(message, hint ?? allowNamespaces(processEnv.uid, probe));
  }
  try {
    await sandbox.run({ what: 'Trying the sandbox', script: trial, signal });
  } catch (thrown) {
    return refused(ensureImagoError(thrown), processEnv.uid, probe);
  }
  const cache = buildCacheFolder(stateFolder(processEnv), processEnv.env, processEnv.uid);
  const folder = existsSync(cache) ? join(cache, 'temporary') : tmpdir();
  if (await canOverlay(sandbox, folder, signal)) {
    const ids = `Works ${sandbox.asRoot ? 'as root' : 'without root'}, with overlays`;
    return ok(`${ids}. ${limitsText[sandbox.limitedBy]} Imago limits disk, output, and time.`);
  }
  return warn(
    'Works, but without overlay mounts: builds have the same result, but are slower.',
    'Use kernel 5.11 or later, and a cache directory on a file system such as ext4, XFS, or btrfs.',
  );
}

function refused({ message }: ImagoError, uid: number, probe: BuildProbe): CheckResult {
  return missing(message, allowNamespaces(uid, probe));
}

/** The kernel settings that forbid user namespaces to regular users, and how to change them. */
const switches: readonly { readonly file: string; readonly off: string; readonly setting: string }[] = [
  { file: 'user/max_user_namespaces', off: '0', setting: 'user.max_user_namespaces=15000' },
  { file: 'kernel/unprivileged_userns_clone', off: '0', setting: 'kernel.unprivileged_userns_clone=1' },
  {
    file: 'kernel/apparmor_restrict_unprivileged_userns',
    off: '1',
    setting: 'kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

function allowNamespaces(uid: number, probe: BuildProbe): string {
  const off = switches.filter(({ file, off }) => probe.read(`/proc/sys/${file}`)?.trim() === off);
  if (uid !== 0 && off.length > 0) return `sudo sysctl -w ${off.map(({ setting }) => setting).join(' ')}`;
  return 'Allow the daemon to create namespaces and mounts: start a container with --privileged.';
}

function checkXz(probe: BuildProbe): CheckResult {
  const found = probe.findProgram('xz');
  if (found !== undefined) return ok(`At ${found}.`);
  return warn('xz is not installed: components in xz archives cannot be read.', installCommand('xz-utils'));
}

/** The daemon enforces the limit, but never on what a running build uses. */
async function checkCache(processEnv: ProcessEnvironment): Promise<CheckResult> {
  const folder = buildCacheFolder(stateFolder(processEnv), processEnv.env, processEnv.uid);
  const [bytes, limit] = [await cacheBytes(folder), defaultCacheLimits.maxBytes];
  const detail = `${formatBytes(bytes)} of at most ${formatBytes(limit)} in ${folder}.`;
  if (bytes <= limit) return ok(detail);
  return warn(detail, 'imago prune');
}
