// Asks before what cannot be taken back. Off a terminal nobody can answer, so --yes is needed.
import { createInterface } from 'node:readline/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Invocation } from '../spec/command.ts';

export async function confirm(invocation: Invocation, plan: readonly string[]): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new ImagoError('confirmation-needed', `Nobody is there to be asked. ${plan.join(' ')}`);
  }
  for (const line of plan) process.stderr.write(`${line}\n`);
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await reader.question('Go on? [y/N] ', { signal: invocation.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new ImagoError('cancelled', 'Nothing was done.');
  } finally {
    reader.close();
  }
}
