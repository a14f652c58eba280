// A shell in the layer at which a build failed: the same root file system, mounted in the same way, with what the
// package tools had done by then.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { prepareRoot } from './install-packages.ts';

export interface FailedShell {
  /** What a person on this machine runs to look at it, and then to take it away. */
  readonly shell: readonly string[];
  readonly clean: readonly string[];
  readonly folder: string;
}

/** In a work folder of its own, because an overlay that was not flushed cannot be mounted with the old one again. */
const enterScript = `
root=$folder/merged
mkdir -p "$root" "$folder/shell"
lowers=$(cd "$folder" && ls -d l[0-9]* 2>/dev/null | sort -V | paste -sd: -)
if [ "$mode" = overlay ]; then
  mkdir -p "$folder/none"
  cd "$folder"
  mount -t overlay overlay -o "lowerdir=\${lowers:-none},upperdir=tree,workdir=shell,userxattr" merged
  cd /
else
  mount --bind "$folder/tree" "$root"
fi
${prepareRoot}
[ -x "$root/bin/bash" ] && exec chroot "$root" /bin/bash -l
exec chroot "$root" /bin/sh -l
`;

/** `undefined` when the build failed before any package tool ran. */
export async function failedShell(
  sandbox: Sandbox,
  folder: string,
  inputs: string,
  overlay: boolean,
): Promise<FailedShell | undefined> {
  const layer = await lastLayer(folder);
  if (layer === undefined) return undefined;
  const settings = `set -eu\nfolder=${quoted(layer)} inputs=${quoted(inputs)} mode=${overlay ? 'overlay' : 'plain'}`;
  return {
    shell: sandbox.commandLine(`${settings}\n${enterScript}`),
    clean: sandbox.commandLine(`rm -rf -- ${quoted(folder)}`),
    folder,
  };
}

/** Trees of layers that were finished are moved to the cache: one that is left is where it failed. */
async function lastLayer(folder: string): Promise<string | undefined> {
  const made = (await readdir(folder)).filter((name) => /^made-\d+$/.test(name));
  const numbers = made.map((name) => Number(name.slice('made-'.length))).sort((a, b) => b - a);
  for (const number of numbers) {
    const layer = join(folder, `made-${number}`);
    if ((await stat(join(layer, 'tree')).catch(() => undefined)) !== undefined) return layer;
  }
  return undefined;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same error, with the way into the layer in its details. */
export function withShell(thrown: unknown, shell: FailedShell): ImagoError {
  const error = ensureImagoError(thrown);
  const { hint, details, retryable } = error;
  return new ImagoError(error.code, error.message, {
    ...(hint === undefined ? {} : { hint }),
    details: { ...details, ...shell },
    retryable,
    cause: thrown,
  });
}
