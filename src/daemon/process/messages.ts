// Reports progress to the process that started this one, on the file descriptor that it passed. It can have exited.
import { closeSync, writeSync } from 'node:fs';
import type { DaemonMessage } from '../../launcher/spawn.ts';

export interface Messages {
  send(message: DaemonMessage): void;
  /** Closes the descriptor. Calling it again has no effect. */
  end(): void;
}

/** The environment names the descriptor until `end`, so that a restarted program continues to report. */
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
        // The reader closed it first.
      }
    },
  };
}
