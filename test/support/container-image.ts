// A small container image in a folder in OCI layout: busybox and a file in two layers, so that snapshots stand on
// each other, one file of the first taken away by the second.
import { writeLayout } from '../../scripts/write-layout.ts';
import { type TarItem, tarEntry, tarFile } from '../../src/disk/tar/writer.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';

export interface ContainerImageOptions {
  readonly tag: string;
  /** What its program prints. */
  readonly greeting: string;
  /** What it does instead of that. */
  readonly command?: readonly string[];
}

export async function writeContainerImage(
  folder: string,
  { tag, greeting, command }: ContainerImageOptions,
): Promise<void> {
  const below: TarItem[] = [
    { entry: tarEntry('bin', { type: 'directory' }) },
    tarFile('bin/busybox', await readToolFile('busybox'), { mode: 0o755 }),
    { entry: tarEntry('bin/sh', { type: 'symlink', link: 'busybox' }) },
    { entry: tarEntry('tmp', { type: 'directory', mode: 0o1777 }) },
    tarFile('etc/gone', 'below'),
  ];
  const above: TarItem[] = [
    tarFile('etc/greeting', `${greeting}\n`, { uid: 1000, gid: 1000 }),
    tarFile('etc/.wh.gone', ''),
  ];
  const Cmd = command ?? ['/bin/sh', '-c', '/bin/busybox cat /etc/greeting'];
  await writeLayout(folder, { tag, layers: [below, above], config: { Cmd, Env: ['PATH=/bin'] } });
}
