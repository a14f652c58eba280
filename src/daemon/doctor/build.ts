// What building images needs of this machine: apt and a few programs, Debian's keys, and a sandbox that works. The
// tools that make the disk itself come with the lock.
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
import type { CheckResult, DoctorCheck } from './check.ts';
import { findProgram, installCommand, outputOf } from './probe.ts';

/** How the machine is looked at. */
export interface BuildProbe {
  findProgram(name: string): string | undefined;
  outputOf(program: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined>;
  /** The text of a file; undefined when there is none. */
  read(path: string): string | undefined;
  /** Throws `sandbox-missing` when this user cannot have one. */
  sandbox(uid: number): Sandbox;
}

const thisHost: BuildProbe = {
  findProgram,
  outputOf,
  read: (path) => (existsSync(path) ? readFileSync(path, 'latin1') : undefined),
  sandbox: (uid) => createSandbox(findNamespace(uid)),
};

const group = 'Builds';

/** By the Debian packages that have them. */
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
      ...{ id: 'build.programs', group, title: 'Programs of Debian' },
      run: (signal) => checkPrograms(probe, signal),
    },
    { id: 'build.keyring', group, title: "Debian's keys", run: () => checkKeyring(probe) },
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
    return {
      state: 'missing',
      detail: `Builds need ${lacking.map(({ program }) => program).join(', ')}, and this machine lacks them.`,
      fix: installCommand([...packages].join(' ')),
    };
  }
  const tar = probe.findProgram('tar') ?? 'tar';
  if ((await probe.outputOf(tar, ['--version'], signal))?.includes('GNU tar') !== true) {
    return {
      state: 'missing',
      detail: `${tar} is not GNU tar: layers could not be written the same way each time.`,
      fix: installCommand('tar'),
    };
  }
  return { state: 'ok', detail: 'apt, dpkg-deb, GNU tar, unshare, setpriv, bwrap and gpgv are installed.' };
}

function checkKeyring(probe: BuildProbe): CheckResult {
  if (probe.read(debianKeyring) !== undefined) return { state: 'ok', detail: `At ${debianKeyring}.` };
  return {
    state: 'missing',
    detail: `${debianKeyring} is not there: the signatures of Debian's archive cannot be checked.`,
    fix: installCommand('debian-archive-keyring'),
  };
}

/** As a build has it: mounts of its own, files of other owners, and a second stage. */
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

/** It is tried: what a kernel, a container or a security module forbids is told by no file. */
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
    return { state: 'missing', detail: message, fix: hint ?? allowNamespaces(processEnv.uid, probe) };
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
    return {
      state: 'ok',
      detail: `${ids}. ${limitsText[sandbox.limitedBy]} Imago limits disk, output, and time.`,
    };
  }
  return {
    state: 'warn',
    detail: 'Works, but folders cannot be laid over each other: builds give the same, only slower.',
    fix: 'A kernel from 5.11 on, and a cache folder on a file system such as ext4, XFS or btrfs.',
  };
}

function refused({ message }: ImagoError, uid: number, probe: BuildProbe): CheckResult {
  return { state: 'missing', detail: message, fix: allowNamespaces(uid, probe) };
}

/** What a kernel says about user namespaces of ordinary users, and how that is changed. */
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
  return 'Let the daemon make namespaces and mounts: in a container, start that with --privileged.';
}

function checkXz(probe: BuildProbe): CheckResult {
  const found = probe.findProgram('xz');
  if (found !== undefined) return { state: 'ok', detail: `At ${found}.` };
  return {
    state: 'warn',
    detail: 'xz is not installed: components in archives that it packed cannot be read.',
    fix: installCommand('xz-utils'),
  };
}

/** The daemon keeps it within its limit; what a build uses right now may stand above. */
async function checkCache(processEnv: ProcessEnvironment): Promise<CheckResult> {
  const folder = buildCacheFolder(stateFolder(processEnv), processEnv.env, processEnv.uid);
  const [bytes, limit] = [await cacheBytes(folder), defaultCacheLimits.maxBytes];
  const detail = `${formatBytes(bytes)} of at most ${formatBytes(limit)} in ${folder}.`;
  if (bytes <= limit) return { state: 'ok', detail };
  return { state: 'warn', detail, fix: 'imago prune' };
}
