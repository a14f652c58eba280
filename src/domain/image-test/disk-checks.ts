// Checks of the sealed disk itself, without starting it: what must not be on it, and what must be as it should.
import { formatBytes } from '../value/bytes.ts';
import { type DiskCheck, type DiskFile, fail, pass, passWhenNone } from './image-check.ts';

const setuid = 0o4000;
const setgid = 0o2000;
const sticky = 0o1000;
const writableByAll = 0o002;

/** Programs that Debian's packages install so, and that a node may have. */
const knownSetuid: ReadonlySet<string> = new Set(
  [
    'chage chfn chsh crontab dotlockfile expiry fusermount fusermount3 gpasswd mount newgidmap newgrp newuidmap',
    'ntfs-3g passwd ping pkexec ssh-agent su sudo sudoedit umount wall write bsd-write',
  ]
    .join(' ')
    .split(' ')
    .map((name) => `/usr/bin/${name}`)
    .concat(
      '/usr/sbin/unix_chkpwd',
      '/usr/sbin/mount.nfs',
      '/usr/sbin/pam_extrausers_chkpwd',
      '/usr/lib/dbus-1.0/dbus-daemon-launch-helper',
      '/usr/lib/openssh/ssh-keysign',
      '/usr/lib/polkit-1/polkit-agent-helper-1',
      '/usr/lib/x86_64-linux-gnu/utempter/utempter',
      '/usr/lib/aarch64-linux-gnu/utempter/utempter',
    ),
);

/** Under /usr, where /bin, /sbin and /lib lead. */
function merged(path: string): string {
  return path.replace(/^\/(?=(?:s?bin|lib)\/)/, '/usr/');
}

/** sha256 of `uninitialized` and a line's end, which systemd takes for a machine that never started. */
const uninitialized = 'b1f1319607d3ec9e0bf8c817dffcb1cd9a9b81f588760bada66755561a65d697';

function contentsOf(...patterns: readonly RegExp[]): (files: readonly DiskFile[]) => string[] {
  return (files) =>
    files.flatMap(({ path, type, size }) =>
      type === 'file' && size > 0 && patterns.some((pattern) => pattern.test(path)) ? [path] : [],
    );
}

const hostKeys = contentsOf(/^\/etc\/ssh\/ssh_host_.*key/);
const credentials = contentsOf(
  /^\/(?:root|home\/[^/]+)\/\.(?:ssh\/|netrc$|pgpass$|aws\/|azure\/|docker\/config\.json$|kube\/|config\/gcloud\/|gnupg\/.*\.key$)/,
  /^\/etc\/kubernetes\/(?:.*\.conf|azure\.json|pki\/.*\.key)$/,
  /^\/var\/lib\/kubelet\/(?:pki\/|bootstrap-kubeconfig$|kubeconfig$)/,
  /^\/var\/lib\/waagent\//,
  /^\/etc\/ssl\/private\/.*\.(?:key|pem)$/,
);
const histories = contentsOf(/^\/(?:root|home\/[^/]+)\/\.(?:[a-z]+_history|lesshst|viminfo|wget-hsts)$/);
const logs = contentsOf(/^\/var\/log\//);
const seeds = contentsOf(
  /^\/var\/lib\/systemd\/(?:random-seed|credential\.secret)$/,
  /^\/var\/lib\/urandom\//,
  /^\/boot\/efi\/loader\/random-seed$/,
);
const leases = contentsOf(
  /^\/var\/lib\/(?:dhcp|dhclient|dhcpcd|NetworkManager)\//,
  /^\/var\/lib\/systemd\/network\//,
  /^\/var\/lib\/cni\//,
);
const temporary = contentsOf(/^\/(?:tmp|run|var\/tmp)\//);
const packageLeftovers = contentsOf(
  /^\/var\/cache\/apt\/.*\.(?:deb|bin)$/,
  /^\/var\/lib\/apt\/lists\/(?!lock$|auxfiles)/,
  /\.dpkg-(?:new|tmp|old|dist)$/,
  /^\/usr\/sbin\/policy-rc\.d$/,
);
/** A captured disk keeps the lists by which the agent of a clone reverts the config of the donor. */
const agentState = contentsOf(/^\/var\/lib\/imago\/(?!managed\.json$|originals\/)/, /^\/etc\/hostname$/);

function without(id: string, what: string, find: (files: readonly DiskFile[]) => string[], remedy: string) {
  return {
    id,
    title: `no ${what} on the disk`,
    remedy,
    judge: ({ files }) => passWhenNone(find(files), 'none'),
  } satisfies DiskCheck;
}

export const diskChecks: readonly DiskCheck[] = [
  {
    id: 'disk-machine-id',
    title: 'the disk has no machine id',
    remedy: 'Leave /etc/machine-id empty: each machine makes its own.',
    judge({ files }) {
      const file = files.find(({ path }) => path === '/etc/machine-id');
      if (file === undefined || file.size === 0 || file.sha256 === uninitialized) return pass('none');
      return fail(`/etc/machine-id has ${file.size} bytes`);
    },
  },
  without(
    'disk-host-keys',
    'ssh host keys',
    hostKeys,
    'Remove /etc/ssh/ssh_host_*: the agent makes them on each machine.',
  ),
  without(
    'disk-credentials',
    'credentials',
    credentials,
    'Take them out of the recipe: a node gets its own.',
  ),
  without('disk-histories', 'histories of shells', histories, 'Remove them: they tell what was typed.'),
  without('disk-logs', 'logs', logs, 'Remove what the build logged below /var/log.'),
  without('disk-seeds', 'random seeds', seeds, 'Remove them: machines with one seed draw the same numbers.'),
  without('disk-leases', 'leases of addresses', leases, 'Remove them: they belong to another machine.'),
  without('disk-temporary', 'temporary files', temporary, 'Remove what lies below /tmp, /var/tmp and /run.'),
  without(
    'disk-package-leftovers',
    'leftovers of package tools',
    packageLeftovers,
    'Clean the caches of apt, and settle changed configuration files.',
  ),
  without(
    'disk-agent-state',
    'state of an agent that ran',
    agentState,
    'Build it anew: it was started before.',
  ),
  {
    id: 'disk-world-writable',
    title: 'nothing on the disk is writable by all',
    remedy: 'Take the permission away, or set the sticky bit on a folder.',
    judge({ files }) {
      const found = files.filter(
        ({ type, mode }) =>
          (type === 'file' && (mode & writableByAll) !== 0) ||
          (type === 'directory' && (mode & writableByAll) !== 0 && (mode & sticky) === 0),
      );
      return passWhenNone(
        found.map(({ path }) => path),
        'none',
      );
    },
  },
  {
    id: 'disk-setuid',
    title: 'only known programs run with the rights of others',
    remedy:
      'Take the setuid or setgid bit away from the program, or name it in `expect.setuid` of the recipe.',
    judge({ files }, _, { setuid: expected = [] }) {
      const known = new Set([...knownSetuid, ...expected].map(merged));
      const found = files.filter(({ type, mode }) => type === 'file' && (mode & (setuid | setgid)) !== 0);
      const strange = found.filter(({ path }) => !known.has(merged(path)));
      return passWhenNone(
        strange.map(({ path }) => path),
        `${found.length} known ones`,
      );
    },
  },
  {
    id: 'disk-passwords',
    title: 'no account on the disk has a password',
    remedy: 'Remove it: everyone with the image would know it.',
    judge: ({ settings }) =>
      passWhenNone(
        settings.users.filter(({ hasPassword }) => hasPassword).map(({ name }) => name),
        'none',
      ),
  },
  {
    id: 'disk-root-account',
    title: 'only root has the rights of root',
    remedy: 'Give the account an id of its own.',
    judge: ({ settings }) =>
      passWhenNone(
        settings.users.filter(({ name, uid }) => uid === 0 && name !== 'root').map(({ name }) => name),
        'none',
      ),
  },
  {
    id: 'disk-release',
    title: 'the disk says which image it is',
    remedy: 'It was not built by Imago, or /etc/imago-release was removed.',
    judge: ({ release }) =>
      release.IMAGE && release.LOCK
        ? pass(`${release.IMAGE}, ${release.LOCK.slice(0, 19)}`)
        : fail('/etc/imago-release lacks IMAGE or LOCK'),
  },
  {
    id: 'disk-kernel',
    title: 'there is one kernel, and it is the one that starts',
    remedy: 'Remove the packages of kernels that do not start.',
    judge: ({ kernel }) =>
      kernel.installed.length === 1 && kernel.installed[0] === kernel.version
        ? pass(kernel.version)
        : fail(`starts ${kernel.version || 'none'}, has ${kernel.installed.join(', ') || 'none'}`),
  },
  {
    id: 'disk-size',
    title: 'the files keep to the size budget',
    remedy: 'Take something out, or raise budgets.size in the recipe.',
    judge({ sizes }, { sizeBytes }) {
      const size = formatBytes(sizes.fileBytes);
      if (sizeBytes === undefined) return pass(`${size}, no budget`);
      const both = `${size} of ${formatBytes(sizeBytes)}`;
      return sizes.fileBytes <= sizeBytes ? pass(both) : fail(both);
    },
  },
];
