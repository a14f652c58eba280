// Tells the one who started this process how far it is, on the file descriptor that they named. They may be
// gone already: then nobody is told.
import { closeSync, writeSync } from 'node:fs';
import type { DaemonMessage } from '../../launcher/spawn.ts';

export interface Messages {
  send(message: DaemonMessage): void;
  /** Nothing more will be said; a second call does nothing. */
  end(): void;
}

/** The environment names the descriptor until `end`: a program that replaces this one goes on talking. */
export function openMessages(env: NodeJS.ProcessEnv): Messages {
  const named = Number(env.IMAGO_MESSAGE_FD);
  let descriptor = Number.isInteger(named) && named > 2 ? named : undefined;
  return {
    send(message) {
      if (descriptor === undefined) return;
      try {
        writeSync(descriptor, `${JSON.stringify(message)}\n`);
      } catch {
        this.end();
      }
    },
    end() {
      if (descriptor === undefined) return;
      const open = descriptor;
      descriptor = undefined;
      delete env.IMAGO_MESSAGE_FD;
      try {
        closeSync(open);
      } catch {
        // The other side closed it first.
      }
    },
  };
}
