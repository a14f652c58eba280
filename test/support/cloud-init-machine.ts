// Starts machines whose configuration comes from the real cloud-init: it reads its data (NoCloud) from a server of
// the test, at the address by which a machine reaches the computer that it runs on.
import { randomUUID } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeOverlay } from '../../src/disk/qcow2/overlay.ts';
import { mainNetwork } from '../../src/providers/local/network/plan.ts';
import type { HostMachine, MachineBoot, MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import type { FileServer } from './file-server.ts';

export interface MachineImage {
  /** A raw file that is only read. */
  readonly disk: string;
  readonly boot: Extract<MachineBoot, { kind: 'direct' }>;
}

/** Every card asks for an address, as Imago's own images do. */
const networkConfig = { version: 2, ethernets: { all: { match: { name: 'e*' }, dhcp4: true } } };

/** Ports of the servers of this test that machines may call. */
const endpoints = new Set<number>();

/** Where a machine that starts from now on finds what the server has. */
export function seenByMachines(server: Pick<FileServer, 'address'>): string {
  const { port } = new URL(server.address);
  endpoints.add(Number(port));
  return `http://${mainNetwork.gateway}:${port}`;
}

export interface CloudInitWish {
  readonly name: string;
  readonly userData: string;
  /** `dhcp`: cloud-init sets every card up, which is meant when absent. `image`: the image does that by itself. */
  readonly network?: 'dhcp' | 'image';
}

/** Gives a machine its data; the kernel's arguments say where. */
export function withCloudInit(
  image: MachineImage,
  server: FileServer,
  { name, userData, network = 'dhcp' }: CloudInitWish,
): MachineImage {
  const seed = `/seed/${name}/`;
  server.files.set(`${seed}user-data`, userData);
  server.files.set(
    `${seed}meta-data`,
    JSON.stringify({ 'instance-id': randomUUID(), 'local-hostname': name }),
  );
  server.files.set(`${seed}vendor-data`, '');
  const cards =
    network === 'image' ? 'disabled' : Buffer.from(JSON.stringify(networkConfig)).toString('base64');
  const words = [`ds=nocloud;s=${seenByMachines(server)}${seed}`, `network-config=${cards}`];
  return { ...image, boot: { ...image.boot, cmdline: [image.boot.cmdline, ...words].join(' ') } };
}

export interface StartOptions {
  readonly folder: string;
  /** Its name on the host. */
  readonly id: string;
  /** What metadata calls it; its id when absent. */
  readonly name?: string;
  readonly document?: unknown;
  /** The disk of an earlier machine; a new one over the image when absent. */
  readonly disk?: string;
  readonly size?: Pick<HostMachine, 'cpus' | 'memoryMb'>;
}

/** Starts a machine and answers with its disk. */
export async function startImageMachine(
  host: MachineHost,
  image: MachineImage,
  options: StartOptions,
): Promise<string> {
  const folder = join(options.folder, options.id);
  await mkdir(folder, { recursive: true });
  const disk = options.disk ?? join(folder, 'disk.qcow2');
  if (options.disk === undefined) {
    await writeOverlay(disk, { backing: image.disk, bytes: (await stat(image.disk)).size });
  }
  const document = options.document === undefined ? '' : JSON.stringify(options.document);
  await host.start({
    ...{ id: options.id, folder, disk, boot: image.boot, cpus: 1, memoryMb: 1024, ...options.size },
    network: { forwards: [], endpoints: [...endpoints] },
    metadata: {
      ...{
        machineId: randomUUID(),
        name: options.name ?? options.id,
        size: 'small',
        region: 'local',
        tags: {},
      },
      image: { gallery: 'local', image: 'tested', version: '1.0.0', digest: `sha256:${'0'.repeat(64)}` },
      userData: Buffer.from(document).toString('base64'),
    },
  });
  return disk;
}
