// Writes the container images that the nodes of examples/cluster have on their disk: the sandbox of pods, compiled from the
// source of Kubernetes, and Debian's busybox.
// Usage: node scripts/node-images.ts KUBERNETES-VERSION FOLDER
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TarItem, tarEntry, tarFile } from '../src/disk/tar/writer.ts';
import { fetchTools } from '../src/host/tools/fetch-tools.ts';
import { readToolFile } from '../src/host/tools/tools.ts';
import { getKubernetes } from './get-kubernetes.ts';
import { writeLayout } from './write-layout.ts';

const shell = ['sh', 'httpd', 'sleep', 'wget', 'cat', 'ls'];

/** Replaces what is in the directory. */
export async function writeNodeImages(version: string, folder: string): Promise<void> {
  await fetchTools({ group: 'disk' });
  const { IMAGO_KUBERNETES: from } = process.env;
  const log = (line: string) => console.error(line);
  const [pause] = await getKubernetes({ version, programs: ['pause'], from, log });
  if (pause === undefined) throw new Error('There is no pause program.');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeLayout(join(folder, 'pause'), {
    tag: '1',
    layers: [[tarFile('pause', await readFile(pause.path), { mode: 0o755 })]],
    config: { Cmd: ['/pause'] },
  });
  const links = shell.map(
    (name): TarItem => ({
      entry: tarEntry(`bin/${name}`, { type: 'symlink', link: 'busybox' }),
    }),
  );
  const files: TarItem[] = [
    { entry: tarEntry('bin', { type: 'directory' }) },
    tarFile('bin/busybox', await readToolFile('busybox'), { mode: 0o755 }),
    ...links,
    { entry: tarEntry('tmp', { type: 'directory', mode: 0o1777 }) },
  ];
  await writeLayout(join(folder, 'busybox'), {
    tag: '1',
    layers: [files],
    config: { Cmd: ['/bin/sh'], Env: ['PATH=/bin'] },
  });
}

if (import.meta.main) {
  const [version, folder] = process.argv.slice(2);
  if (version === undefined || folder === undefined) {
    console.error('usage: node scripts/node-images.ts KUBERNETES-VERSION FOLDER');
    process.exit(2);
  }
  await writeNodeImages(version, folder);
}
