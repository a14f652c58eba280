// Asks for confirmation before a destructive command runs. Without a terminal, --yes is required.
import { createInterface } from 'node:readline/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Invocation } from '../spec/command.ts';

export async function confirm(invocation: Invocation, plan: readonly string[]): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new ImagoError(
      'confirmation-needed',
      `No interactive terminal is available to confirm this: ${plan.join(' ')}`,
    );
  }
  for (const line of plan) process.stderr.write(`${line}\n`);
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // The prompt puts the terminal into a mode in which Ctrl-C is a key, not a signal.
    const interrupted = new Promise<never>((_, reject) => {
      const end = () => reject(new ImagoError('cancelled', 'Interrupted. Nothing was done.'));
      reader.once('SIGINT', end).once('close', end);
      invocation.signal.addEventListener('abort', end, { once: true });
    });
    const answer = await Promise.race([reader.question('Continue? [y/N] '), interrupted]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new ImagoError('cancelled', 'Nothing was done.');
  } finally {
    reader.close();
  }
}
