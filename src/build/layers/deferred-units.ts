// A node is ready before the rest of its system starts. What Debian starts at a boot and no node needs to be ready
// waits in a target of its own, which the agent starts once the node is ready or has failed; a timer does it when
// the agent cannot. Of the devices, only networks, disks and the owner's ports are looked at before.

import { findUnit, lateTarget, packageUnits, unitFolder } from '../../install/enable-unit.ts';
import type { Host } from '../../install/host.ts';

/** By the target that Debian starts them with. Left out where a package is not there. */
const lateUnits: Readonly<Record<string, readonly string[]>> = {
  'multi-user.target': [
    'dbus.service',
    'getty.target',
    'remote-fs.target',
    'ssh.service',
    'systemd-ask-password-wall.path',
    'systemd-logind.service',
    'systemd-user-sessions.service',
  ],
  'sysinit.target': [
    'dev-hugepages.mount',
    'dev-mqueue.mount',
    'kmod-static-nodes.service',
    'proc-sys-fs-binfmt_misc.automount',
    'sys-fs-fuse-connections.mount',
    'sys-kernel-config.mount',
    'sys-kernel-debug.mount',
    'sys-kernel-tracing.mount',
    'systemd-ask-password-console.path',
    'systemd-binfmt.service',
    'systemd-hibernate-clear.service',
    'systemd-journal-flush.service',
    'systemd-pcrmachine.service',
    'systemd-pcrphase-sysinit.service',
    'systemd-pcrphase.service',
    'systemd-pstore.service',
    'systemd-random-seed.service',
    'systemd-resolved.service',
    'systemd-timesyncd.service',
    'systemd-tmpfiles-setup-dev-early.service',
    'systemd-tmpfiles-setup-dev.service',
    'systemd-tpm2-setup-early.service',
    'systemd-tpm2-setup.service',
  ],
  'sockets.target': [
    'dbus.socket',
    'systemd-creds.socket',
    'systemd-hostnamed.socket',
    'systemd-initctl.socket',
    'systemd-pcrextend.socket',
    'systemd-pcrlock.socket',
    'systemd-sysext.socket',
  ],
};

/** Started by others, which do not need them on a node. */
const uselessUnits = ['systemd-udev-load-credentials.service', 'systemd-networkd-persistent-storage.service'];

/** They make units of what an image of Imago does not have. */
const uselessGenerators = ['gpt-auto', 'hibernate-resume', 'run', 'ssh', 'system-update', 'tpm2'];
const generatorFolder = '/etc/systemd/system-generators';

const growRoot = 'imago-grow-root.service';

const targetUnit = `[Unit]
Description=What a node needs once it is ready
`;

const timerUnit = `[Unit]
Description=Start the rest of the system when the agent has not

[Timer]
OnBootSec=3min
Unit=${lateTarget}

[Install]
WantedBy=multi-user.target
`;

const firstDevices = `# Made by Imago: the other devices are looked at by imago-devices.service.
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=devices --action=add --subsystem-match=block --subsystem-match=net --subsystem-match=virtio-ports
`;

const devicesUnit = `[Unit]
Description=Look at all devices
DefaultDependencies=no
Wants=systemd-udevd.service
After=systemd-udev-trigger.service systemd-tmpfiles-setup-dev.service
Conflicts=shutdown.target
Before=shutdown.target
ConditionPathIsReadWrite=/sys

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=-udevadm trigger --type=all --action=add --prioritized-subsystem=module,block,tpmrm,net,tty,input
`;

/** The initrd has mounted a sound root as fstab says. */
const remountDropIn = `[Unit]
ConditionPathIsReadWrite=!/
`;

/** For an image with the agent: nothing else would start what is put off here in time. */
export async function deferUnits(host: Host): Promise<void> {
  await host.writeText(`${packageUnits}/${lateTarget}`, targetUnit);
  await host.writeText(`${packageUnits}/imago-late.timer`, timerUnit);
  await host.link(
    `${unitFolder}/multi-user.target.wants/imago-late.timer`,
    `${packageUnits}/imago-late.timer`,
  );
  await host.writeText(`${packageUnits}/systemd-udev-trigger.service.d/10-imago.conf`, firstDevices);
  await host.writeText(`${packageUnits}/imago-devices.service`, devicesUnit);
  await startLate(host, 'imago-devices.service', packageUnits);
  await host.writeText(`${packageUnits}/systemd-remount-fs.service.d/10-imago.conf`, remountDropIn);
  await host.link(`${unitFolder}/local-fs.target.wants/${growRoot}`, '/dev/null');
  await startLate(host, growRoot, packageUnits);
  for (const [target, names] of Object.entries(lateUnits))
    for (const name of names) await defer(host, target, name);
  for (const folder of [unitFolder, packageUnits])
    for (const name of await host.list(`${folder}/timers.target.wants`))
      await defer(host, 'timers.target', name);
  for (const name of uselessUnits) await host.link(`${unitFolder}/${name}`, '/dev/null');
  await maskGenerators(host);
}

/** Removes a unit from the target that starts it, regardless of which package enabled it. */
async function defer(host: Host, target: string, name: string): Promise<void> {
  const wish = `${target}.wants/${name}`;
  const enabled = await host.readLink(`${unitFolder}/${wish}`);
  const packaged = await host.readLink(`${packageUnits}/${wish}`);
  if (enabled === undefined && packaged === undefined) return;
  if (enabled !== undefined) await host.remove(`${unitFolder}/${wish}`);
  if (packaged !== undefined) await host.link(`${unitFolder}/${wish}`, '/dev/null');
  if (enabled === '/dev/null') return;
  const found = await findUnit(host, name);
  if (found !== undefined) await startLate(host, name, found.place);
}

async function startLate(host: Host, name: string, place: string): Promise<void> {
  await host.link(`${unitFolder}/${lateTarget}.wants/${name}`, `${place}/${name}`);
}

/** Every start and every reload of systemd runs all generators one by one. */
async function maskGenerators(host: Host): Promise<void> {
  const useless = [...uselessGenerators];
  if ((await host.readText('/etc/rc.local')) === undefined) useless.push('rc-local');
  if (await hasOnlyUnits(host)) useless.push('sysv');
  for (const name of useless) await host.link(`${generatorFolder}/systemd-${name}-generator`, '/dev/null');
}

/** Whether each old script has a unit that is used in its stead. */
async function hasOnlyUnits(host: Host): Promise<boolean> {
  for (const name of await host.list('/etc/init.d'))
    if ((await findUnit(host, `${name.replace(/\.sh$/, '')}.service`)) === undefined) return false;
  return true;
}
