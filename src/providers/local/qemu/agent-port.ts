// Sends messages to the agent of a machine: a named pipe that QEMU holds open and connects to the port on which the agent
// reports. It needs no reader, and unread messages wait in it for the agent.
import { constants } from 'node:fs';
import { open, rm, symlink } from 'node:fs/promises';
import { runTool } from '../../../host/process/run-tool.ts';
import type { AgentWord } from './machine-host.ts';
import type { MachineFiles } from './paths.ts';

/** Replaces the port. What the machine writes is stored by QEMU's log only. */
export async function makeAgentPort({ agentIn, agentOut }: MachineFiles): Promise<void> {
  await Promise.all([agentIn, agentOut].map((file) => rm(file, { force: true })));
  await runTool('mkfifo', ['-m', '600', '--', agentIn]);
  await symlink('/dev/null', agentOut);
}

/** Writes without waiting: a pipe that QEMU does not hold, or that is full, drops the message. */
export async function writeWord({ agentIn }: MachineFiles, word: AgentWord): Promise<void> {
  try {
    const file = await open(agentIn, constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      await file.write(`${JSON.stringify(lineOf(word))}\n`);
    } finally {
      await file.close();
    }
  } catch {
    return;
  }
}

function lineOf(word: AgentWord): object {
  if (word.kind === 'allow') return { allow: word.cost, digest: word.digest };
  return word.kind === 'deny' ? { deny: word.digest } : {};
}
