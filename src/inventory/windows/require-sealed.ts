// Whether the disk of a Windows build may become a version. What the machine said of itself does not count: the disk is
// read, and everything that the lock asks for must be on it, and nothing that identifies the machine.
import type { ByteSource } from '../../disk/bytes/byte-source.ts';
import { sealedState } from '../../domain/build/windows-job.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { manifestPath } from '../../domain/windows-node/first-boot.ts';
import { firstBootPath, firstBootScript } from '../../domain/windows-node/first-boot-script.ts';
import { diskPath } from './compare-lock.ts';
import { readWindowsInventory } from './inventory.ts';
import type { WindowsSystem } from './system.ts';

const keepHint = 'Nothing was sealed. Build with --keep-failed to look at the machine.';
const tag = '/Windows/System32/Sysprep/Sysprep_succeeded.tag';
const maxText = 1024 * 1024;
const shown = 5;

/** Returns the number of files. Throws `capture-unsafe` for identities and secrets, and `build-failed` for all else. */
export async function requireSealedWindows(
  disk: Pick<ByteSource, 'size'>,
  system: WindowsSystem,
  lock: Lock,
  signal?: AbortSignal,
): Promise<number> {
  const { windows, files } = await readWindowsInventory(disk, system, { lock, hash: true, signal });
  const wrong = [...(await sealProblems(system)), ...(windows?.differences ?? [])];
  const waiting = windows?.seal?.pending ?? [];
  if (waiting.length > 0) wrong.push(`It waits for a restart: ${waiting.join(', ')}.`);
  if (wrong.length > 0) {
    const text = `The disk is not what the build asked for: ${listOf(wrong)}`;
    throw new ImagoError('build-failed', text, { hint: keepHint, details: { wrong } });
  }
  const findings = (windows?.findings ?? []).filter(({ level }) => level === 'fail');
  if (findings.length === 0) return files.length;
  const places = findings.map(({ rule, path, reason }) => `${path} (${rule}): ${reason}`);
  throw new ImagoError('capture-unsafe', `The disk identifies its machine: ${listOf(places)}`, {
    hint: `Remove it with a step of the recipe. ${keepHint}`,
    details: { findings: places },
  });
}

function listOf(sentences: readonly string[]): string {
  const more = sentences.length - shown;
  return [...sentences.slice(0, shown), ...(more > 0 ? [`And ${more} more.`] : [])].join(' ');
}

/** The registry, a file, and Sysprep's mark must agree; what the build brought must be gone. */
async function sealProblems(system: WindowsSystem): Promise<string[]> {
  const { files } = system;
  const text = async (path: string) => {
    const entry = await files.find(path);
    return entry === undefined ? '' : (await files.read(entry, maxText)).toString('utf8');
  };
  const problems: string[] = [];
  const state = system.text('HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State', 'ImageState');
  if (state !== sealedState) problems.push(`It is in state ${state || 'unknown'}, not ${sealedState}.`);
  if (!(await text('/Windows/Setup/State/State.ini')).includes(`ImageState=${sealedState}`)) {
    problems.push('State.ini has another state.');
  }
  if ((await files.find(tag)) === undefined) problems.push('Sysprep left no mark of success.');
  if ((await files.find('/imago-build')) !== undefined) problems.push('C:\\imago-build is still there.');
  if ((await files.find(diskPath(manifestPath))) === undefined) problems.push('It has no manifest.');
  if ((await text(diskPath(firstBootPath))) !== firstBootScript) {
    problems.push('It has another script for the first start.');
  }
  return problems;
}
