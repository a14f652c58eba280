// Faults of an image, each with the checks of `imago test` that must find it. All of them share one disk and one test:
// docs/checks.md says which checks are shown so.

export interface Fault {
  readonly what: string;
  /** All that fail because of it. */
  readonly checks: readonly string[];
  /** On the sealed disk: the text of new files, and of what is appended to a file that is there. */
  readonly file?: { readonly path: string; readonly text: string; readonly mode?: number };
  readonly append?: { readonly path: string; readonly text: string };
  /** A link on the sealed disk, and where it leads. */
  readonly link?: readonly [string, string];
  /** Run on each machine when it is ready. A fault without any of these is one of the recipe. */
  readonly script?: string;
}

const secret = 'a secret of this node';

/** What the machines are told to be: a file that one of the faults changes, and one that another tells everybody. */
export const brokenConfig = {
  schemaVersion: 1,
  files: [
    { path: '/etc/motd', content: 'welcome\n', restarts: ['ssh.service'] },
    { path: '/etc/secret', content: `${secret}\n`, mode: '0600' },
  ],
};

/** What the faults need to be there, in a recipe. */
export const brokenRecipe = `name: broken
numbering: semver
disk:
  size: 1536MiB
packages:
  - containerd
  - runc
  - openssh-server
components:
  - name: tool
    version: 1.0.0
    from:
      file: tool
    to: /usr/local/bin/tool
  - name: kubelet
    version: 1.34.2
    from:
      file: kubelet
    to: /usr/bin/kubelet
    unit:
      content: |
        [Service]
        ExecStart=/usr/bin/kubelet
      enable: false
images:
  - name: example.test/first:1
    from:
      layout: first
  - name: example.test/second:1
    from:
      layout: second
  - name: example.test/third:1
    from:
      layout: third
settings:
  sysctl:
    net.ipv4.ip_forward: 1
  modules:
    - br_netfilter
  # A busy machine that emulates another takes its time.
  kernelArguments:
    - systemd.default_device_timeout_sec=600
    - systemd.default_timeout_start_sec=600
`;

/** What their containers do, by the names of the images. */
export const brokenContainers: Readonly<Record<string, readonly string[]>> = {
  first: ['/bin/sh', '-c', 'exit 139'],
  second: ['/bin/sh'],
  third: ['/bin/sh'],
};

/** Its programs. */
export const brokenPrograms: Readonly<Record<string, string>> = {
  tool: '#!/bin/sh\necho tool 1.0.0\n',
  kubelet: '#!/bin/sh\necho Kubernetes v1.34.1\n',
};

const left = (check: string, path: string): Fault => ({
  what: `${path} was left on the disk`,
  checks: [check],
  file: { path, text: 'left behind\n' },
});

const packages = `Package: intruder
Status: install ok half-configured
Architecture: all
Maintainer: Nobody <nobody@example.com>
Version: 1
Description: nothing

Package: besides
Status: install ok installed
Architecture: all
Maintainer: Nobody <nobody@example.com>
Version: 1
Description: nothing

`;

export const faults: readonly Fault[] = [
  left('disk-host-keys', '/etc/ssh/ssh_host_rsa_key.pub'),
  left('disk-credentials', '/root/.kube/config'),
  left('disk-histories', '/root/.bash_history'),
  left('disk-logs', '/var/log/build.log'),
  left('disk-seeds', '/var/lib/systemd/random-seed'),
  left('disk-leases', '/var/lib/dhcp/dhclient.leases'),
  left('disk-temporary', '/var/tmp/unpacked'),
  left('disk-package-leftovers', '/usr/sbin/policy-rc.d'),
  left('disk-agent-state', '/var/lib/imago/left'),
  left('disk-kernel', '/usr/lib/modules/9.9.9/modules.dep'),
  {
    what: 'all may write to a file',
    checks: ['disk-world-writable'],
    file: { path: '/opt/open', text: '', mode: 0o666 },
  },
  {
    what: 'a program has the rights of root',
    checks: ['disk-setuid'],
    file: { path: '/opt/tool', text: '', mode: 0o4755 },
  },
  {
    what: 'an account has the id of root',
    checks: ['disk-root-account'],
    append: { path: '/etc/passwd', text: 'intruder:x:0:0::/root:/bin/sh\n' },
  },
  {
    what: 'an account has a password',
    checks: ['disk-passwords', 'system-passwords'],
    append: { path: '/etc/shadow', text: 'intruder:$y$j9T$x:20000:0:99999:7:::\n' },
  },
  {
    what: 'the machine id is on the disk, and so all machines have it',
    checks: ['disk-machine-id', 'pair-machine-id'],
    file: { path: '/etc/machine-id', text: '0123456789abcdef0123456789abcdef\n', mode: 0o444 },
  },
  {
    what: 'the root file system is not grown',
    checks: ['disk-grown'],
    link: ['/etc/systemd/system/imago-grow-root.service', '/dev/null'],
  },
  {
    what: 'a file of the node config is changed',
    checks: ['agent-verify', 'agent-second-apply'],
    script: 'echo changed >/etc/motd',
  },
  {
    what: 'packages come at the start, one of them half',
    checks: ['software-packages', 'software-package-database'],
    script: `grep -q intruder /var/lib/dpkg/status || printf '%s' '${packages}' >>/var/lib/dpkg/status`,
  },
  {
    what: 'a program is replaced',
    checks: ['software-programs'],
    script: 'echo "echo replaced" >>/usr/local/bin/tool',
  },
  {
    what: 'the image says that it is another one',
    checks: ['software-release'],
    script: "sed -i 's/^IMAGE=.*/IMAGE=other/' /etc/imago-release",
  },
  {
    what: 'a container image is removed',
    checks: ['runtime-images', 'runtime-content'],
    script: 'ctr --namespace k8s.io images rm example.test/third:1',
  },
  { what: 'the program of a container breaks', checks: ['runtime-runs'] },
  {
    what: 'the kubelet is another one than the image says, and nobody starts it',
    checks: ['software-kubelet', 'software-kubelet-healthy'],
  },
  {
    what: 'a secret of the config is told',
    checks: ['agent-secrets'],
    script: `logger 'read: ${secret}'`,
  },
  {
    what: 'a layer of a container image is lost',
    checks: ['runtime-content'],
    script:
      "ctr --namespace k8s.io images check | awk '/second/ { print $3 }' | xargs ctr --namespace k8s.io content get | grep -o 'sha256:[0-9a-f]*' | tail -n 1 | xargs ctr --namespace k8s.io content rm",
  },
  {
    what: 'a kernel setting is overwritten',
    checks: ['system-sysctl'],
    script: 'echo 0 >/proc/sys/net/ipv4/ip_forward',
  },
  { what: 'a module is not loaded', checks: ['system-modules'], script: 'rmmod br_netfilter' },
  {
    what: 'the kernel has other arguments',
    checks: ['system-kernel-arguments'],
    script: 'echo other >/run/cmdline && mount --bind /run/cmdline /proc/cmdline',
  },
  {
    what: 'there is swap',
    checks: ['system-swap'],
    script: 'fallocate -l 1M /swap && chmod 600 /swap && mkswap /swap && swapon /swap',
  },
  {
    what: 'the time zone is changed',
    checks: ['system-time-zone'],
    script: 'ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime',
  },
  {
    what: 'a service listens for everybody',
    checks: ['system-ports'],
    script: `systemd-run perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalPort => 2375, Listen => 1) or die; sleep'`,
  },
  {
    what: 'every machine takes the same name, which nobody can look up',
    checks: ['pair-host-name', 'system-names'],
    script: "hostname same && sed -i 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf",
  },
  {
    what: 'there is no way out',
    checks: ['system-address'],
    script: 'while ip -4 route del default; do :; done',
  },
  {
    what: 'every machine takes the same host keys, which are none',
    checks: ['pair-host-keys', 'system-host-keys'],
    script: 'for key in /etc/ssh/ssh_host_*_key.pub; do echo none >"$key"; done',
  },
  {
    what: 'every machine has the same random seed',
    checks: ['pair-random'],
    script: 'systemctl start systemd-random-seed.service && echo same >/var/lib/systemd/random-seed',
  },
  {
    what: 'something critical is logged',
    checks: ['boot-critical-messages'],
    script: 'logger --priority user.crit "a part is broken"',
  },
  { what: 'the clock is wrong', checks: ['system-clock'], script: 'date --set "+1 hour"' },
  {
    what: 'a unit fails, at each start',
    checks: ['boot-failed-units', 'restart-failed-units'],
    script: 'exit 1',
  },
];

/** Every check that fails, once. */
export const brokenChecks: readonly string[] = [...new Set(faults.flatMap(({ checks }) => checks))].sort();
