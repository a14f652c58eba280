// How checks look at the machine: which programs there are, what they say, and how to install them here.
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where a program is found; also in the system folders that an ordinary user's PATH leaves out. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return folders
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** What the program prints, on either stream; `undefined` when it cannot be run or is ended by the signal. */
export function outputOf(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...args],
      { signal, timeout: 5000, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => {
        const failed = error !== null && typeof error.code !== 'number';
        resolve(failed ? undefined : `${stdout}${stderr}`);
      },
    );
  });
}

/** The command that installs these packages on this machine. */
export function installCommand(debianPackages: string, sudo = process.getuid?.() !== 0): string {
  if (!existsSync('/usr/bin/apt-get'))
    return `Install ${debianPackages} (Debian's names) by your package manager.`;
  return `${sudo ? 'sudo ' : ''}apt-get install -y ${debianPackages}`;
}

/** `1.47.0` as [1, 47, 0], from the first such number in the text. */
export function versionIn(text: string): readonly number[] | undefined {
  const found = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return found === null ? undefined : found.slice(1, 4).map((part) => Number(part ?? 0));
}

export function isAtLeast(version: readonly number[], least: readonly number[]): boolean {
  for (const [index, wanted] of least.entries()) {
    const part = version[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
