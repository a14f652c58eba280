// The images whose boots are compared, and what each is told to be: always a node with the same container runtime,
// the same user, host entry, file and kernel parameter.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { agentBundle, buildImage } from '../support/built-image.ts';
import { type MachineImage, seenByMachines, withCloudInit } from '../support/cloud-init-machine.ts';
import type { FileServer } from '../support/file-server.ts';
import { bootPatience, makeGenericDisk } from '../support/generic-debian.ts';
import type { BootMirror } from './boot-mirror.ts';

const runtimePackages = ['containerd', 'runc', 'containernetworking-plugins'];

export const nodeDocument = {
  schemaVersion: 1,
  system: { sysctl: { 'vm.max_map_count': 262_144 } },
  network: { hosts: { '192.0.2.10': ['registry.example.com'] } },
  files: [{ path: '/etc/example/setting', content: 'same\n' }],
  users: [{ name: 'ann', uid: 2000 }],
};

/** Tells the moment on the console, then when the stages of the boot began. Times are since the kernel's start. */
export const readyMark = 'BENCH-READY';
export const stageScript = [
  'for unit in imago-agent cloud-init-local cloud-final containerd; do',
  'echo "BENCH-STAGE $unit $(systemctl show $unit.service --property=InactiveExitTimestampMonotonic --value) us"; done',
  'echo "BENCH-STAGE userspace $(systemctl show --property=UserspaceTimestampMonotonic --value) us"',
  'echo BENCH-END',
].join('\n');
const tellReady = `echo "${readyMark} $(cut -d' ' -f1 /proc/uptime) s"`;

const tellInstalled = `echo "BENCH-STAGE installed $(cut -d' ' -f1 /proc/uptime) s" >/dev/ttyS0`;

/** The same by cloud-init, with packages when they are not on the image. */
function cloudConfig(packages: readonly string[]): string {
  const document = {
    ...(packages.length === 0 ? {} : { package_update: true, packages }),
    users: [{ name: 'ann', uid: 2000 }],
    write_files: [
      { path: '/etc/example/setting', content: 'same\n' },
      { path: '/etc/sysctl.d/90-node.conf', content: 'vm.max_map_count = 262144\n' },
    ],
    runcmd: [
      ...(packages.length === 0 ? [] : [tellInstalled]),
      'echo 192.0.2.10 registry.example.com >>/etc/hosts; sysctl --quiet --load=/etc/sysctl.d/90-node.conf',
      `systemctl start containerd.service && { ${tellReady}; } >/dev/ttyS0`,
      `{ ${stageScript}; } >/dev/ttyS0`,
    ],
  };
  return `#cloud-config\n${JSON.stringify(document)}\n`;
}

/**
 * Runs on a node that is ready, so that its disk starts the same services without the agent: the container runtime
 * first, and what waits for the node after it.
 */
export const withoutAgent = `set -e
systemctl disable imago-agent.service
systemctl mask imago-agent.service
rm -f /usr/lib/systemd/system/containerd.service.d/10-imago.conf /usr/lib/systemd/system/ssh.service.d/10-imago.conf
systemctl enable containerd.service
cat >/usr/local/bin/tell-ready <<'END'
#!/bin/sh
${tellReady}
systemctl start --no-block imago-late.target
${stageScript}
END
chmod 755 /usr/local/bin/tell-ready
cat >/etc/systemd/system/tell-ready.service <<'END'
[Unit]
Requires=containerd.service
After=containerd.service
[Service]
Type=oneshot
ExecStart=/usr/local/bin/tell-ready
StandardOutput=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
END
systemctl enable tell-ready.service
sync`;

export interface BootImages {
  readonly own: MachineImage;
  /** Debian as it is published; packages at the first boot. */
  readonly statusQuo: MachineImage;
  /** Imago's image of the same recipe, without the agent and with cloud-init. */
  readonly baked: MachineImage;
}

export async function makeBootImages(
  folder: string,
  server: FileServer,
  mirror: BootMirror,
): Promise<BootImages> {
  const agent = await agentBundle(folder);
  const own = await buildImage(join(folder, 'own'), recipe('bench-own', runtimePackages), agent);
  const baked = await buildImage(
    join(folder, 'baked'),
    recipe('bench-baked', [...runtimePackages, 'cloud-init']),
    undefined,
  );
  const place = join(folder, 'generic');
  await mkdir(place);
  const generic = await makeGenericDisk({
    ...{ folder: place, kind: 'published', lock: own.lock },
    aptSource: `deb ${seenByMachines(mirror)}/debian trixie main`,
  });
  const wish = (name: string, packages: readonly string[]) => ({ name, userData: cloudConfig(packages) });
  return {
    own,
    statusQuo: withCloudInit(generic, server, wish('status-quo', runtimePackages)),
    baked: withCloudInit(baked, server, { ...wish('baked', []), network: 'image' }),
  };
}

/** A busy computer that emulates another takes its time; what cloud-init waits for is enabled as on Debian's images. */
function recipe(name: string, packages: readonly string[]): string {
  const lines = [...packages, 'openssh-server'].map((one) => `  - ${one}`);
  const waits = packages.includes('cloud-init')
    ? ['  units:', '    - name: systemd-networkd-wait-online.service', '      state: enabled']
    : [];
  return [
    ...[`name: ${name}`, 'numbering: semver', 'disk:', '  size: 1536MiB', 'packages:', ...lines],
    ...['settings:', '  kernelArguments:', ...bootPatience.map((word) => `    - ${word}`), ...waits, ''],
  ].join('\n');
}
