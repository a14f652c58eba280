// A state folder on a small or read-only disk of its own, in a mount namespace that ends with the test. What
// runs in it is reached by nsenter. Needs root.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { collect, type Finished } from './imago.ts';

export interface SmallDisk {
  /** The state folder, as those within see it. */
  readonly home: string;
  /** The same folder, as it is seen from outside while this process of the namespace lives. */
  seenBy(pid: number): string;
  imago(...words: readonly string[]): Promise<Finished>;
  /** Runs a shell command within, which must succeed. */
  shell(command: string): void;
  end(): Promise<void>;
}

const launcher = resolve(import.meta.dirname, '../../bin/imago');

/** Whether this machine lets us make one. */
export const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

export async function createSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-disk-'));
  const home = join(folder, 'disk', 'state');
  const script = `mkdir "$0/disk" && mount -t tmpfs -o size=${megabytes}m,mode=0700 none "$0/disk" && echo ready && exec sleep 3600`;
  const holder = spawn('unshare', ['-m', 'sh', '-c', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await ready(holder);
  const within = ['-t', String(holder.pid), '-m', '--'];
  const env = { ...process.env, IMAGO_HOME: home, IMAGO_PROVIDER: 'sim', NO_COLOR: '1' };

  function imago(...words: readonly string[]): Promise<Finished> {
    return collect(
      spawn('nsenter', [...within, launcher, ...words], { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  }

  return {
    home,
    seenBy: (pid) => join(`/proc/${pid}/root`, home),
    imago,
    shell(command) {
      const { status, stderr } = spawnSync('nsenter', [...within, 'sh', '-c', command], {
        env,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${command}: ${stderr}`);
    },
    async end() {
      await imago('down');
      holder.kill('SIGKILL');
      await new Promise((done) => holder.once('close', done));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ready(holder: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    holder.stdout?.once('data', () => resolve());
    holder.once('close', () => reject(new Error('the small disk could not be made')));
  });
}
