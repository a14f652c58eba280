// A plain image has no agent: real cloud-init runs the fixed script of Imago there, once. From then on the same node
// config makes the same node as on an image of Imago's, only slower: compared live, and file by file.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentInstallScript } from '../../src/domain/agent/install-script.ts';
import { openMachineHost } from '../../src/providers/local/host/open.ts';
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { agentBundle, type BuiltImage, buildImage } from '../support/built-image.ts';
import { seenByMachines, startImageMachine, withCloudInit } from '../support/cloud-init-machine.ts';
import { type AllowedDifference, compareRoots, readMachineRoot } from '../support/compare-roots.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { bootPatience, makeGenericDisk } from '../support/generic-debian.ts';
import { packageHotfix, serveLockedPackages } from '../support/locked-packages.ts';
import { patience } from '../support/speed.ts';

const recipe = `name: same-node
numbering: semver
disk:
  size: 1536MiB
packages:
  - openssh-server
  - containerd
  - runc
settings:
  kernelArguments:
${bootPatience.map((word) => `    - ${word}\n`).join('')}`;

/** The first boot on a busy computer, with packages to install. */
const patienceMs = patience(1_500_000);

let folder: string;
let host: MachineHost;
let server: FileServer;
let own: BuiltImage;
let document: ReturnType<typeof nodeConfig>;
let agentArchive: Buffer;
const disks = { own: '', plain: '' };

/** The runtime comes as hotfixes: Imago's image has these very packages, so there is nothing to do for them there. */
function nodeConfig() {
  return {
    schemaVersion: 1,
    requires: ['hotfixes', 'runtime'],
    system: { sysctl: { 'vm.max_map_count': 262_144, 'net.ipv4.ip_forward': 1 }, limits: { nofile: 65_536 } },
    network: { hosts: { '192.0.2.10': ['registry.example.com'] } },
    runtime: {
      mirrors: { 'registry.example.com': ['https://mirror.example.com'] },
      limits: { nofile: 99_999 },
    },
    users: [
      {
        name: 'ann',
        uid: 2000,
        authorizedKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB9mN0dLZ2xXc2V0dGluZ3NvZmFuZXhhbXBsZWtl ann'],
      },
    ],
    files: [{ path: '/etc/example/setting', content: 'same\n', mode: '0640' }],
    units: [
      {
        name: 'example.service',
        state: 'enabled',
        content:
          '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n',
      },
    ],
    hotfixes: ['runc', 'containerd'].map((name) => packageHotfix(server, own.lock, name)),
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-plain-'));
  const agent = await agentBundle(folder);
  agentArchive = gzipSync(agent.archive);
  own = await buildImage(join(folder, 'image'), recipe, agent);
  server = await startFileServer();
  document = nodeConfig();
  host = await openMachineHost({
    folder: join(folder, 'host'),
    socketFolder: join(folder, 's'),
    accelerator: { name: 'tcg', reason: 'the test says so' },
  });
}, patienceMs);

afterAll(async () => {
  await host?.close({ leaveRunning: false, deadlineMs: 1000 });
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function until(id: string, what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await holds())) {
    const { state } = await host.status(id);
    if (state === 'running' && performance.now() < end) {
      await sleep(250);
      continue;
    }
    const lines = [JSON.stringify((await host.report(id))?.document), ...(await host.console(id, 60))];
    throw new Error(`${what}: it did not come to that; the machine is ${state}\n${lines.join('\n')}`);
  }
}

async function ready(id: string): Promise<void> {
  await until(id, 'ready', async () => {
    const report = await host.report(id);
    if (report?.phase === 'failed') throw new Error(JSON.stringify(report.document.error));
    return report?.phase === 'ready';
  });
}

async function run(id: string, script: string): Promise<string> {
  const { stdout } = await host.runCommand(id, script, { timeoutMs: patience(300_000) });
  return stdout;
}

/** What a user of the node sees of it. */
const nodeState = [
  'systemctl start imago-late.target 2>/dev/null; systemctl is-system-running --wait >/dev/null',
  'hostname; cat /etc/hosts; uname -r; sysctl vm.max_map_count net.ipv4.ip_forward; id ann; ulimit -n',
  'systemctl is-active containerd ssh example imago-agent imago-commands imago-shell',
  'systemctl is-enabled containerd ssh example imago-agent',
  'systemctl show --property=LimitNOFILE,DropInPaths,FragmentPath containerd',
  'systemctl show --property=DropInPaths,FragmentPath ssh imago-agent',
  'dpkg-query --show containerd runc quickjs curl libc6',
  'ip -N rule; imago-agent verify; imago-agent plan',
].join('; ');

/** Two boots and an installation by cloud-init take ten minutes of an emulated machine. */
const soak = process.env.IMAGO_SOAK === '1';

describe.runIf(soak)('(soak) an image without the agent', () => {
  it(
    'starts no agent but the one that was named, says so, and is a node once it has that one',
    async () => {
      const place = join(folder, 'generic');
      await mkdir(place);
      const plain = await makeGenericDisk({
        ...{ folder: place, kind: 'quick', lock: own.lock },
        aptSource: await serveLockedPackages(server, own.lock),
      });
      const sha256 = createHash('sha256').update(agentArchive).digest('hex');
      const url = `${seenByMachines(server)}/agent.tar.gz`;
      server.files.set('/agent.tar.gz', gzipSync('another program'));
      const userData = agentInstallScript({ url, sha256 });
      disks.plain = await startImageMachine(host, withCloudInit(plain, server, { name: 'node', userData }), {
        ...{ folder, id: 'plain', name: 'node', document },
      });

      const refused = `imago: the agent with sha256 ${sha256} could not be had from ${url}`;
      await until('plain', refused, async () =>
        (await host.console('plain', 200)).some((line) => line.includes(refused)),
      );
      expect(await host.report('plain')).toBeUndefined();
      expect((await host.status('plain')).health).toBeUndefined();

      server.files.set('/agent.tar.gz', agentArchive);
      await ready('plain');
      // The platform is told just after the node has said that it is ready.
      await until('plain', 'Ready', async () => (await host.status('plain')).health?.state === 'Ready');
    },
    patienceMs,
  );

  it(
    'is the same node as one from an image of Imago’s with the same config',
    async () => {
      disks.own = await startImageMachine(host, own, { folder, id: 'own', name: 'node', document });
      await ready('own');
      const [mine, other] = [await run('own', nodeState), await run('plain', nodeState)];
      expect(mine).toContain('verified');
      expect(other).toBe(mine);
      // The image of Imago’s has these packages, and does not ask for them.
      const asked = server.asked.filter((path) => /\/(?:runc|containerd)_/.test(path));
      expect(asked).toHaveLength(2);
    },
    patienceMs,
  );

  it(
    'has the same files, but for what every machine has of its own and what a generic image brings',
    async () => {
      for (const id of ['own', 'plain']) {
        expect(await host.stop(id, { deadlineMs: patienceMs })).toEqual({ forced: false });
      }
      const [mine, other] = [await readMachineRoot(disks.own), await readMachineRoot(disks.plain)];
      for (const [name, version] of mine.packages)
        expect([name, other.packages.get(name)]).toEqual([name, version]);
      expect(compareRoots(mine, other, allowed)).toEqual({ differences: [], unused: [] });
    },
    patienceMs,
  );
});

const allowed: readonly AllowedDifference[] = [
  {
    why: 'each machine is itself',
    paths:
      /^\/(?:etc\/machine-id|etc\/ssh\/ssh_host_.*|var\/lib\/imago\/(?:identity|platform-report)\.json|var\/lib\/systemd\/random-seed)$/,
  },
  { why: 'logs, caches and leases', paths: /^\/(?:var\/(?:log|tmp|cache|lib\/systemd)|tmp|run|dev)\/./ },
  {
    why: 'numbers of system users follow the order in which packages were installed; the user of the config is compared live',
    paths:
      /^\/(?:etc\/(?:passwd|group|shadow|gshadow|subuid|subgid)-?|etc\/\.pwd\.lock|usr\/lib\/dbus-1\.0\/dbus-daemon-launch-helper)$/,
  },
  {
    why: 'the packages of both are compared by version',
    paths: /^\/var\/lib\/(?:dpkg|apt|ucf|python|pam)(?:\/.*)?$/,
  },
  {
    why: 'what packages make of files that are compared: caches of libraries and of Python, alternatives, links of SysV init',
    paths:
      /\/__pycache__(?:\/|$)|^\/etc\/(?:ld\.so\.cache|alternatives\/.*|rc\d\.d\/.*)$|^\/usr\/bin\/(?:jsondiff|nc|netcat)$/,
  },
  { why: 'documentation that no node needs', paths: /^\/usr\/share\/(?:bug|info|lintian)(?:\/.*)?$/ },
  {
    why: 'the image build of Imago says what the image is, grows its disk and marks it as up to date',
    paths:
      /^\/(?:etc\/(?:fstab|imago|imago-release|\.updated)|var\/\.updated|usr\/lib\/imago\/grow-root|usr\/lib\/systemd\/system\/(?:local-fs\.target\.wants\/)?imago-grow-root\.service)$/,
  },
  {
    why: 'Imago’s image brings its cards up by itself; there it is netplan of cloud-init',
    paths:
      /^\/(?:usr\/lib\/systemd\/network\/80-imago\.network|etc\/netplan\/.*|etc\/systemd\/system\/dbus-org\.freedesktop\.network1\.service)$/,
  },
  {
    why: 'Imago’s image starts in two parts: which target starts a unit, and what is switched off; the services of the node are compared',
    paths:
      /^\/(?:etc|usr\/lib)\/systemd\/(?:system\/(?:[^/]+\.wants(?:\/(?!containerd|imago-agent|example)[^/]+)?|imago-(?:late|devices)\.[^/]+|systemd-(?:udev-trigger|remount-fs)\.service\.d(?:\/.*)?|(?:modprobe@drm|serial-getty@hvc0|systemd-[^/]+)\.service)|system-generators(?:\/.*)?)$/,
  },
  {
    why: 'cloud-init, Python, apt and a locale: a generic image has them, set up for themselves',
    paths:
      /^\/(?:etc\/(?:cloud|apt|python3|dpkg\/dpkg\.cfg\.d|sudoers\.d)(?:\/.*)?|var\/lib\/cloud(?:\/.*)?|usr\/local\/lib\/python.*|etc\/systemd\/system\/cloud-.*|etc\/(?:locale\.conf|locale\.gen|localtime|networks|\.resolv\.conf\.systemd-resolved\.bak))$/,
  },
  {
    why: 'Debian’s own initrd, which the disk of a generic image starts from',
    paths: /^\/(?:boot\/)?initrd\.img.*$/,
  },
  {
    why: 'the user that cloud-init makes when nobody names one, and a folder for its boot partition',
    paths: /^\/(?:home\/debian(?:\/.*)?|root\/\.ssh(?:\/.*)?|efi)$/,
  },
  { why: 'the mark of the script', paths: /^\/usr\/lib\/imago\/agent\.sha256$/ },
];
