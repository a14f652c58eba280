// The files that every image has in addition to its packages: network, names, and the agent's directories.

import { disableUnit, enableUnit, findUnit, unitFolder } from '../../install/enable-unit.ts';
import type { Host } from '../../install/host.ts';

const network = `# Made by Imago: every card asks for an address.
[Match]
Type=ether
Name=eth* en*

[Network]
DHCP=yes
LLDP=no

[DHCPv4]
UseMTU=yes
UseDomains=yes
`;

const hosts = `127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
`;

/** They come with packages that every node has, and do nothing on one but delay it. */
const uselessUnits = ['e2scrub_reap.service', 'e2scrub_all.timer', 'dpkg-db-backup.timer', 'man-db.timer'];
/** A node has no screen, and a graphics card gets its driver without this. The owner's shell is on hvc0. */
const maskedUnits = ['modprobe@drm.service', 'serial-getty@hvc0.service'];

export async function writeSystemFiles(host: Host): Promise<void> {
  await host.writeText('/usr/lib/systemd/network/80-imago.network', network);
  await host.writeText('/etc/hosts', hosts);
  await enableInstalled(host, 'systemd-networkd.service');
  await enableInstalled(host, 'systemd-resolved.service');
  for (const name of uselessUnits) await disableUnit(host, name);
  for (const name of maskedUnits) await host.link(`${unitFolder}/${name}`, '/dev/null');
  await host.makeFolder('/etc/imago');
  await host.makeFolder('/var/lib/imago', { mode: 0o700 });
}

async function enableInstalled(host: Host, name: string): Promise<void> {
  const unit = await findUnit(host, name);
  if (unit !== undefined) await enableUnit(host, name, unit.text, unit.place);
}

export interface ReleaseFacts {
  readonly image: string;
  readonly lockDigest: string;
  readonly rules: number;
  readonly architecture: string;
  readonly suite: string;
  readonly kubernetes?: string | undefined;
  /** Private inputs are on the disk. */
  readonly restricted?: boolean;
}

/** /etc/imago-release: what an image is. Not its number, which is given once it is sealed. */
export function releaseText(facts: ReleaseFacts): string {
  const fields = {
    IMAGE: facts.image,
    LOCK: facts.lockDigest,
    RULES: String(facts.rules),
    ARCHITECTURE: facts.architecture,
    BASE: `debian ${facts.suite}`,
    KUBERNETES: facts.kubernetes,
    RESTRICTED: facts.restricted === true ? 'yes' : undefined,
  };
  return Object.entries(fields)
    .flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}="${value.replace(/["\\$`]/g, '\\$&')}"\n`],
    )
    .join('');
}
