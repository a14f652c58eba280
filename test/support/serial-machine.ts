// Starts a QEMU machine for a test and watches its serial console.
import { spawn } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SerialMachine {
  /** Waits until the console shows the text, and returns all of it; throws when the machine ends before. */
  expect(text: string, seconds: number): Promise<string>;
  /** Ends the machine. */
  stop(): Promise<void>;
}

/** The words that start a machine by UEFI, with variables of its own in the folder. One machine a folder. */
export async function uefiFirmware(folder: string): Promise<readonly string[]> {
  const variables = join(folder, 'vars.fd');
  await copyFile('/usr/share/OVMF/OVMF_VARS_4M.fd', variables);
  return [
    ...['-drive', 'if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd'],
    ...['-drive', `if=pflash,format=raw,file=${variables}`],
  ];
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
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  let console = '';
  let ended: string | undefined;
  const watchers = new Set<() => void>();
  const tell = () => {
    for (const watcher of watchers) watcher();
  };
  const append = (chunk: Buffer) => {
    console += chunk.toString('latin1');
    tell();
  };
  child.stdout.on('data', append);
  child.stderr.on('data', append);
  const exit = new Promise<void>((resolve) => {
    const end = (why: string) => {
      ended ??= why;
      process.off('exit', killAtExit);
      tell();
      resolve();
    };
    child.once('error', (error) => end(String(error)));
    child.once('exit', (code, signal) => end(`it ended with ${code ?? signal}`));
  });

  return {
    expect(text, seconds) {
      return new Promise((resolve, reject) => {
        const finish = (act: () => void) => {
          clearTimeout(timer);
          watchers.delete(look);
          act();
        };
        const fail = (why: string) =>
          finish(() =>
            reject(new Error(`no ${JSON.stringify(text)} on the console: ${why}\n${console.slice(-2000)}`)),
          );
        const look = () => {
          if (console.includes(text)) finish(() => resolve(console));
          else if (ended !== undefined) fail(ended);
        };
        const timer = setTimeout(() => fail(`${seconds} s are over`), seconds * 1000);
        watchers.add(look);
        look();
      });
    },
    async stop() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
