// Runs the Azure emulator's program in the foreground, and passes on the signals that end it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ImagoError } from '../domain/error/imago-error.ts';

export async function runEmulator(words: readonly string[], signal: AbortSignal): Promise<void> {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(fromSource ? '../azure-emulator/main.ts' : './azure-emulator.js', import.meta.url);
  // The channel tells the emulator when this process is gone, however it ended.
  const child = spawn(process.execPath, [fileURLToPath(entry), ...words], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const stop = () => child.kill('SIGTERM');
  process.once('SIGTERM', stop);
  signal.addEventListener('abort', stop, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.removeListener('SIGTERM', stop);
  if (code !== 0) throw new ImagoError('internal', 'The Azure emulator ended with an error.');
}
