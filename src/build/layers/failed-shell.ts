// A shell in the layer at which a build failed: the same root file system, mounted in the same way, with what the
// package tools had done by then.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { belowMount, workMount } from '../sandbox/stages.ts';
import { mountRoot } from './install-packages.ts';
import { belowFile } from './package-layers.ts';

export interface FailedShell {
  /** The command that a user on this host runs to inspect it, and the one that deletes it. */
  readonly shell: readonly string[];
  readonly clean: readonly string[];
  readonly folder: string;
}

/** In a work folder of its own, because an overlay that was not flushed cannot be mounted with the old one again. */
const enterScript = `
folder=${workMount} root=${workMount}/merged
rm -rf "$folder/work"
${mountRoot}
if [ -x "$root/bin/bash" ]; then in_root /bin/bash -l; else in_root /bin/sh -l; fi
`;

/** `undefined` when the build failed before any package tool ran. */
export async function failedShell(
  sandbox: Sandbox,
  folder: string,
  overlay: boolean,
): Promise<FailedShell | undefined> {
  const layer = await lastLayer(folder);
  if (layer === undefined) return undefined;
  const below = JSON.parse(await readFile(join(layer, belowFile), 'utf8')) as readonly string[];
  const lowers = below.map((_, index) => belowMount(index)).join(':');
  const script = `set -eu\nmode=${overlay ? 'overlay' : 'plain'} lowers=${lowers}\n${enterScript}`;
  return {
    shell: sandbox.commandLine({ script, folder: layer, below }),
    clean: sandbox.removeLine(folder),
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
