// What Imago itself writes to every Linux image, and who would be hurt by another file there: recipes keep away.

export interface OwnPath {
  /** Closed with all that is below it. */
  readonly path: string;
  readonly owner: string;
}

const agent = "Imago's agent";
const record = "Imago's record of the image";
const growth = 'the unit by which Imago grows the root';
const late = 'what Imago starts once a node is ready';
const start = "Imago's marks for the first start";

const units = '/usr/lib/systemd/system';

export const ownPaths: readonly OwnPath[] = [
  { path: '/etc/imago-release', owner: record },
  { path: '/usr/lib/imago', owner: agent },
  { path: '/usr/bin/imago-agent', owner: agent },
  { path: '/var/lib/imago', owner: agent },
  { path: '/run/imago', owner: agent },
  { path: '/etc/imago/kubelet.env', owner: agent },
  { path: '/etc/imago/proxy.env', owner: agent },
  { path: '/usr/lib/udev/rules.d/99-imago.rules', owner: agent },
  ...['imago-agent', 'imago-commands', 'imago-shell'].flatMap((name) => unitPlaces(name, agent)),
  ...['kubelet', 'containerd', 'ssh', 'serial-getty@hvc0'].map((name) => ({
    path: `${units}/${name}.service.d/10-imago.conf`,
    owner: agent,
  })),
  ...['imago-late.target', 'imago-late.timer', 'imago-devices.service'].flatMap((name) =>
    placesOf(name, late),
  ),
  ...['systemd-udev-trigger', 'systemd-remount-fs'].map((name) => ({
    path: `${units}/${name}.service.d/10-imago.conf`,
    owner: late,
  })),
  ...unitPlaces('imago-grow-root', growth),
  { path: `${units}/local-fs.target.wants/imago-grow-root.service`, owner: growth },
  { path: '/etc/fstab', owner: 'the mount of the root, which Imago writes' },
  { path: '/usr/lib/systemd/network/80-imago.network', owner: "Imago's network settings" },
  ...[
    '/etc/sysctl.d/90-imago.conf',
    '/etc/modules-load.d/imago.conf',
    '/etc/modprobe.d/imago.conf',
    '/etc/systemd/system.conf.d/imago.conf',
    '/etc/security/limits.d/90-imago.conf',
    '/etc/systemd/timesyncd.conf.d/imago.conf',
  ].map((path) => ({ path, owner: 'what Imago makes of the settings' })),
  { path: '/etc/.updated', owner: start },
  { path: '/var/.updated', owner: start },
];

/** A unit in /etc would hide that of the same name. */
function unitPlaces(name: string, owner: string): readonly OwnPath[] {
  return placesOf(`${name}.service`, owner);
}

function placesOf(name: string, owner: string): readonly OwnPath[] {
  return [units, '/etc/systemd/system'].map((folder) => ({ path: `${folder}/${name}`, owner }));
}

/** The one name of a path on a system whose /bin, /sbin and /lib are links into /usr. */
export function mergedUsr(parts: readonly string[]): readonly string[] {
  return ['bin', 'sbin', 'lib', 'lib64'].includes(parts[0] ?? '') ? ['usr', ...parts] : parts;
}
