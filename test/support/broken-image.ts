// Puts faults on a sealed disk from outside, where no recipe could: files, and a unit that breaks a machine once it is
// ready.
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openFileSource } from '../../src/disk/bytes/byte-source.ts';
import { readGpt } from '../../src/disk/gpt/reader.ts';
import { sectorSize } from '../../src/disk/gpt/table.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { faults } from './faults.ts';

const breaker = `#!/bin/sh
until grep -q '"phase":"ready"' /run/imago/status.json; do sleep 1; done
${faults.flatMap(({ script }) => (script === undefined ? [] : [script])).join('\n')}
`;

const breakerUnit = `[Unit]
After=imago-agent.service
[Service]
Type=oneshot
ExecStart=/usr/lib/breaker
`;

/** Puts all the faults on the disk. */
export async function breakDisk(disk: string, folder: string): Promise<void> {
  const source = await openFileSource(disk);
  const gpt = await readGpt(source).finally(() => source.close());
  const root = gpt.partitions.find(({ name }) => name === 'root');
  if (root === undefined) throw new Error('the disk has no root');
  const place = `${disk}?offset=${root.firstSector * sectorSize}`;
  const debugfs = await requireTool('debugfs');
  const commands: string[] = [];
  const put = async (path: string, text: string, mode = 0o644) => {
    const local = join(folder, `fault-${commands.length}`);
    await writeFile(local, text);
    commands.push(
      ...parents(path).map((parent) => `mkdir ${parent}`),
      ...[`rm ${path}`, `cd ${dirname(path)}`, `write ${local} ${path.slice(path.lastIndexOf('/') + 1)}`],
      `sif ${path} mode 010${mode.toString(8).padStart(4, '0')}`,
      ...[`sif ${path} uid 0`, `sif ${path} gid 0`, 'cd /'],
    );
  };
  for (const { file, append, link } of faults) {
    if (file !== undefined) await put(file.path, file.text, file.mode);
    if (append !== undefined) {
      const { stdout } = await runTool(debugfs, ['-R', `cat ${append.path}`, place]);
      await put(append.path, `${stdout}${append.text}`);
    }
    if (link !== undefined) commands.push(`symlink ${link[0]} ${link[1]}`);
  }
  const units = '/etc/systemd/system';
  await put('/usr/lib/breaker', breaker, 0o755);
  await put(`${units}/breaker.service`, breakerUnit);
  commands.push(`symlink ${units}/multi-user.target.wants/breaker.service ../breaker.service`);
  const script = join(folder, 'faults');
  await writeFile(script, `${commands.join('\n')}\n`);
  // A folder that is there already, and a file that is not, are told as errors.
  await runTool(debugfs, ['-w', '-f', script, place], { accept: [0, 1] });
}

function parents(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === '/' ? [] : [...parents(folder), folder];
}
