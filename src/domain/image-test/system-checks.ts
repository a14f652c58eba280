// Checks of settings, time, network and accounts of a running machine.
import {
  type DiskFacts,
  fail,
  hasUnit,
  lines,
  type MachineCheck,
  pass,
  passWhenNone,
  passWhenSays,
  shellWord,
  whenEnded,
} from './image-check.ts';

const clockOffMs = 120_000;

/** Ports that a node of Kubernetes listens on, for all. */
const knownPorts: ReadonlySet<string> = new Set(['22', '10250', '10256', '68', '546', '5353', '5355']);

const utcNames: ReadonlySet<string> = new Set([
  'UTC',
  'Etc/UTC',
  'Universal',
  'Zulu',
  'Etc/Universal',
  'Etc/Zulu',
]);

function zoneOf(path: string): string {
  return path.replace(/^.*\/zoneinfo\//, '');
}

/** As sysctl.d has it: where dots divide, a slash is a dot of a name, as in `net.ipv4.conf.eth0/100`. */
function sysctlPath(name: string): string {
  const isPath = /^[^.]*\//.test(name);
  return `/proc/sys/${isPath ? name : name.replace(/[./]/g, (one) => (one === '.' ? '/' : '.'))}`;
}

/** Without patterns, and without those that may fail: sysctl.d marks them by a dash. */
function wantedSysctls(disk: DiskFacts | undefined): readonly (readonly [name: string, value: string])[] {
  return Object.entries(disk?.settings.sysctl ?? {}).filter(([name]) => !/^-|\*/.test(name));
}

/** As the kernel calls them. */
function wantedModules(disk: DiskFacts | undefined): readonly string[] {
  return (disk?.settings.modules ?? []).map((name) => name.replaceAll('-', '_'));
}

export const systemChecks: readonly MachineCheck[] = [
  {
    id: 'system-sysctl',
    title: 'kernel settings have the values that the image says',
    remedy: 'A setting needs a module that is not loaded, or something overwrites it.',
    script({ disk }) {
      const names = wantedSysctls(disk).map(([name]) => name);
      return names.length === 0
        ? undefined
        : names.map((name) => `echo ${shellWord(name)} "$(cat ${shellWord(sysctlPath(name))})"`).join('\n');
    },
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const values = new Map(
          said.map((line) => {
            const [name = '', ...rest] = line.split(/\s+/);
            return [name, rest.join(' ')];
          }),
        );
        const wanted = wantedSysctls(disk);
        const differ = wanted.flatMap(([name, text]) => {
          const right = text.trim().split(/\s+/).join(' ');
          return values.get(name) === right
            ? []
            : [`${name} is ${values.get(name) || 'unset'}, not ${right}`];
        });
        return passWhenNone(differ, `${wanted.length} settings`);
      }),
  },
  {
    id: 'system-modules',
    title: 'the kernel modules that the image names are loaded',
    remedy: 'The kernel of the image does not have the module.',
    script({ disk }) {
      const modules = wantedModules(disk);
      if (modules.length === 0) return undefined;
      const names = modules.map(shellWord).join(' ');
      return `for m in ${names}; do if [ -d "/sys/module/$m" ] || grep -q "/$m\\.ko" "/lib/modules/$(uname -r)/modules.builtin"; then echo "$m"; fi; done`;
    },
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const missing = wantedModules(disk).filter((name) => !said.includes(name));
        return passWhenNone(missing, `${wantedModules(disk).length} modules`);
      }),
  },
  {
    id: 'system-kernel-arguments',
    title: 'the kernel was started with the arguments that the image says',
    remedy: 'The boot loader passes other arguments than the disk names.',
    script: ({ disk }) =>
      (disk?.settings.kernelArguments.length ?? 0) > 0 ? 'cat /proc/cmdline' : undefined,
    judge: (answer, { disk }) =>
      whenEnded(answer, (said) => {
        const given = new Set(said.flatMap((line) => line.split(/\s+/)));
        const wanted = disk?.settings.kernelArguments ?? [];
        return passWhenNone(
          wanted.filter((one) => !given.has(one)),
          `${wanted.length} arguments`,
        );
      }),
  },
  {
    id: 'system-swap',
    title: 'no swap is in use',
    remedy: 'Take it out of fstab: the kubelet refuses to start with it.',
    script: () => 'tail -n +2 /proc/swaps',
    judge: (answer) => whenEnded(answer, (said) => passWhenNone(said, 'none')),
  },
  {
    id: 'system-cgroups',
    title: 'control groups are of version 2',
    remedy: 'Remove the kernel argument that selects the older ones.',
    script: () => 'stat --file-system --format=%T /sys/fs/cgroup',
    judge: (answer) => passWhenSays(answer, 'cgroup2fs'),
  },
  {
    id: 'system-clock',
    title: 'the clock is right',
    remedy: 'The image reads the hardware clock in another zone, or sets no time at all.',
    script: () => 'date +%s',
    judge: (answer, { now }) =>
      whenEnded(answer, ([said = '']) => {
        const off = Math.abs(Number(said) * 1000 - now);
        const detail = `off by ${Math.round(off / 1000)} s`;
        return off <= clockOffMs ? pass(detail) : fail(detail);
      }),
  },
  {
    id: 'system-time-zone',
    title: 'the clock shows the zone that the image sets, or UTC',
    remedy: 'Something changes the zone at the start: set settings.time.zone in the recipe instead.',
    script: () => 'readlink -m /etc/localtime',
    judge: (answer, { disk }) =>
      whenEnded(answer, ([said = '']) => {
        const link = disk?.files.find(({ path }) => path === '/etc/localtime')?.link;
        const wanted = link === undefined ? 'UTC' : zoneOf(link);
        const zone = zoneOf(said);
        const isUtc = zone === '/etc/localtime' || utcNames.has(zone);
        return zone === wanted || (isUtc && utcNames.has(wanted)) ? pass(isUtc ? 'UTC' : zone) : fail(zone);
      }),
  },
  {
    id: 'system-time-service',
    title: 'a service keeps the clock right',
    remedy: 'Add chrony or systemd-timesyncd to the recipe, or a machine drifts.',
    script: ({ disk }) =>
      hasUnit(disk, 'systemd-timesyncd.service') || hasUnit(disk, 'chrony.service')
        ? 'systemctl is-enabled systemd-timesyncd chrony 2>/dev/null; true'
        : undefined,
    judge: (answer) =>
      whenEnded(answer, (said) =>
        said.includes('enabled') ? pass('enabled') : fail('there is one, but it is not enabled'),
      ),
  },
  {
    id: 'system-ports',
    title: 'nothing unexpected listens on the network',
    remedy: 'Bind the service to 127.0.0.1, take it out, or name its port in `expect.ports` of the recipe.',
    script: () => 'ss --no-header --listening --tcp --udp --numeric --processes',
    judge: (answer, { expect }) =>
      whenEnded(answer, (said) => {
        const known = new Set([...knownPorts, ...(expect?.ports ?? []).map(String)]);
        const open = said.flatMap((line) => {
          const [kind = '', , , , local = ''] = line.split(/\s+/);
          const port = local.slice(local.lastIndexOf(':') + 1);
          const address = local.slice(0, local.lastIndexOf(':')).replace(/%.*$/, '');
          const isInside = /^(?:127\.|\[?::1\]?$|\[?::ffff:127\.)/.test(address);
          return isInside || known.has(port) ? [] : [`${kind} ${local}`];
        });
        return passWhenNone(open, `${said.length} listeners, all known`);
      }),
  },
  {
    id: 'system-names',
    title: 'the machine knows its own name',
    remedy: 'Put the host name, or the module `myhostname`, into the lookup of names.',
    script: () => 'getent hosts "$(hostname)" && getent hosts localhost',
    judge: ({ exitCode, output }) =>
      exitCode === 0 && output.trim() !== '' ? pass(lines(output)[0] ?? '') : fail('cannot be looked up'),
  },
  {
    id: 'system-address',
    title: 'the machine has an address and a way out',
    remedy: 'See `networkctl status`.',
    script: () => 'ip -4 -oneline address show scope global; ip -4 route show default',
    judge: (answer) =>
      whenEnded(answer, (said) => {
        const [address] = said.flatMap((line) => /inet ([0-9.]+)/.exec(line)?.[1] ?? []);
        return address !== undefined && said.some((line) => line.startsWith('default '))
          ? pass(address)
          : fail('no address, or no default route');
      }),
  },
  {
    id: 'system-passwords',
    title: 'nobody can sign in with a password',
    remedy: 'Something sets a password at the start.',
    script: () => "awk -F: '$2 !~ /^[!*]/ { print $1 }' /etc/shadow",
    judge: (answer) => whenEnded(answer, (said) => passWhenNone(said, 'nobody')),
  },
  {
    id: 'system-machine-id',
    title: 'the machine made an id of its own',
    remedy: 'See that /etc is writable at the start.',
    script: () => 'cat /etc/machine-id',
    judge: (answer) =>
      whenEnded(answer, ([said = '']) => (/^[0-9a-f]{32}$/.test(said) ? pass(said) : fail(said || 'none'))),
  },
  {
    id: 'system-host-keys',
    title: 'the machine made ssh host keys of its own',
    remedy: 'The agent, or the ssh service, must make them before the first connection.',
    script: ({ disk }) =>
      hasUnit(disk, 'ssh.service')
        ? 'ls /etc/ssh/ssh_host_*_key && ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub'
        : undefined,
    judge: ({ exitCode, output }) =>
      exitCode === 0 && output.trim() !== '' ? pass(lines(output).at(-1) ?? '') : fail('none'),
  },
];
