// A small Debian archive of exactly the packages that a lock names, for machines that install some of them.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { contentFolder } from '../../src/build/content/content-folder.ts';
import { inputsOf, type Lock, type LockedInput } from '../../src/domain/lock/lock.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { seenByMachines } from './cloud-init-machine.ts';
import type { FileServer } from './file-server.ts';
import { sharedBuildCache } from './test-recipe.ts';

const folder = 'packages/';

/** Puts them on the server. The answer is a line of apt's sources for machines. */
export async function serveLockedPackages(server: FileServer, lock: Lock): Promise<string> {
  const inputs = contentFolder(sharedBuildCache());
  const records: string[] = [];
  const onNodes = inputsOf(lock, 'package').filter(
    ({ sets }) => sets?.some((set) => set !== 'tools') === true,
  );
  for (const input of onNodes) {
    const path = inputs.path(input.sha256);
    const { stdout } = await runTool('dpkg-deb', ['--field', path]);
    const { size } = await stat(path);
    const more = [`Filename: ${fileName(input)}`, `Size: ${size}`, `SHA256: ${input.sha256}`];
    records.push(`${stdout.toString('utf8').trimEnd()}\n${more.join('\n')}\n`);
    server.files.set(`/${fileName(input)}`, (_, response) => {
      response.writeHead(200, { 'content-length': size });
      createReadStream(path).pipe(response);
    });
  }
  server.files.set(`/${folder}Packages`, records.join('\n'));
  return `deb [trusted=yes] ${seenByMachines(server)}/ ${folder}`;
}

/** As a hotfix of a node config names it. */
export function packageHotfix(server: FileServer, lock: Lock, name: string) {
  const input = inputsOf(lock, 'package').find((one) => one.name === name);
  if (input === undefined) throw new Error(`the lock has no package ${name}`);
  const { version, sha256 } = input;
  const source = `${seenByMachines(server)}/${fileName(input)}`;
  return { component: name, version, kind: 'package', source, sha256 } as const;
}

function fileName({ name, sha256 }: LockedInput): string {
  return `${folder}${name}_${sha256.slice(0, 12)}.deb`;
}
