// A shell where a build failed: the daemon left the layer as it was, and says how to get into it.
import { spawn } from 'node:child_process';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { Invocation } from '../spec/command.ts';

/** Runs the build; when it fails and left a layer behind, opens a shell in it and takes it away afterwards. */
export async function offerShell(invocation: Invocation, build: () => Promise<void>): Promise<void> {
  try {
    await build();
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    const { shell, clean } = (error.details ?? {}) as Readonly<Record<string, unknown>>;
    if (isWords(shell)) {
      invocation.out.note(`error: ${error.message}`);
      invocation.out.note('This is the layer that failed. It is taken away when the shell ends.');
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
