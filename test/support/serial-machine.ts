// Starts a QEMU machine for a test and watches its serial console.
import { spawn } from 'node:child_process';

export interface SerialMachine {
  /** Waits until the console shows the text, and returns all of it; throws when the machine ends before. */
  expect(text: string, seconds: number): Promise<string>;
  /** Ends the machine. */
  stop(): Promise<void>;
}

/** Software emulation only: nested KVM cannot be trusted to exist or to work. */
export function startMachine(args: readonly string[], folder: string): SerialMachine {
  const machine = ['-M', 'q35', '-accel', 'tcg', '-cpu', 'max,cx16=off,la57=off', '-m', '1024'];
  const quiet = ['-display', 'none', '-nodefaults', '-no-user-config', '-no-reboot', '-serial', 'stdio'];
  const child = spawn('qemu-system-x86_64', [...machine, ...quiet, ...args], {
    cwd: folder,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let console = '';
  let ended: string | undefined;
  let changed: () => void = () => undefined;
  const append = (chunk: Buffer) => {
    console += chunk.toString('latin1');
    changed();
  };
  child.stdout.on('data', append);
  child.stderr.on('data', append);
  const exit = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = String(error);
      changed();
      resolve();
    });
    child.once('exit', (code, signal) => {
      ended = `it ended with ${code ?? signal}`;
      changed();
      resolve();
    });
  });

  return {
    expect(text, seconds) {
      return new Promise((resolve, reject) => {
        const fail = (why: string) => {
          clearTimeout(timer);
          reject(new Error(`no ${JSON.stringify(text)} on the console: ${why}\n${console.slice(-2000)}`));
        };
        const timer = setTimeout(() => fail(`${seconds} s are over`), seconds * 1000);
        changed = () => {
          if (console.includes(text)) {
            clearTimeout(timer);
            resolve(console);
          } else if (ended !== undefined) fail(ended);
        };
        changed();
      });
    },
    async stop() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
