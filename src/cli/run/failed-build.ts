// Opens a shell in the layer that failed to build, which the daemon kept.
import { spawn } from 'node:child_process';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { Invocation } from '../spec/command.ts';

/** Runs the build. If it fails and kept a layer, opens a shell in it and deletes the layer afterwards. */
export async function offerShell(invocation: Invocation, build: () => Promise<void>): Promise<void> {
  try {
    await build();
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    const { shell, clean } = (error.details ?? {}) as Readonly<Record<string, unknown>>;
    if (isWords(shell)) {
      invocation.out.note(`error: ${error.message}`);
      invocation.out.note('This is the layer that failed. It is deleted when the shell exits.');
      await run(shell);
      if (isWords(clean)) await run(clean);
    }
    throw thrown;
  }
}

function isWords(value: unknown): value is readonly [string, ...string[]] {
  return Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string');
}

async function run([program, ...words]: readonly [string, ...string[]]): Promise<void> {
  const child = spawn(program, words, { stdio: 'inherit', cwd: '/' });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
