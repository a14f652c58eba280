// Puts a run in a control group (cgroup v2) of its own, which limits the memory and the processes of a run together.
// rlimits alone limit each process. Possible where this process can create groups: as root, or in a service or a session
// that systemd delegated to its user.
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAbandoned, ownedName } from '../../host/process/owned-name.ts';
import type { SandboxLimits } from './limits.ts';

export interface ControlGroup {
  /** Words before a command that start it in the group. */
  readonly words: readonly string[];
  /** Whether the kernel ended the group because it was over its limit of memory. */
  ranOutOfMemory(): Promise<boolean>;
  /** Ends what is left in the group and removes it. */
  end(): Promise<void>;
}

const enterScript = 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"';
const removeTries = 40;
const removePauseMs = 50;

/**
 * Returns the nearest group above this process in which it can create groups with limits; `undefined` if there is none.
 * A group that has processes cannot have limited groups in it, so it is not the group of this process itself.
 */
export function findGroupParent(
  mount = '/sys/fs/cgroup',
  ownFile = '/proc/self/cgroup',
  isRoot = process.getuid?.() === 0,
): string | undefined {
  try {
    const own = /^0::(\/.*)$/m.exec(readFileSync(ownFile, 'utf8'))?.[1];
    if (own === undefined || own.includes('..')) return undefined;
    for (let path = own; ; path = dirname(path)) {
      const folder = join(mount, path);
      if (canHoldLimited(folder, isRoot)) return folder;
      if (path === '/') return undefined;
    }
  } catch {
    return undefined;
  }
}

function canHoldLimited(folder: string, isRoot: boolean): boolean {
  const file = join(folder, 'cgroup.subtree_control');
  const isEnabled = () => /(?=.*\bmemory\b).*\bpids\b/.test(readFileSync(file, 'utf8'));
  try {
    for (const path of [folder, join(folder, 'cgroup.procs')]) accessSync(path, constants.W_OK);
    // What an ordinary user can write was delegated to the user. The kernel refuses if the group has processes.
    if (!isEnabled() && !isRoot) writeFileSync(file, '+memory +pids');
    return isEnabled();
  } catch {
    return false;
  }
}

/** Also removes groups that a killed process left. `undefined` if the kernel refuses: rlimits apply then. */
export async function createGroup(parent: string, limits: SandboxLimits): Promise<ControlGroup | undefined> {
  for (const name of await readdir(parent).catch(() => [])) {
    if (name.startsWith('imago-') && isAbandoned(name))
      await rmdir(join(parent, name)).catch(() => undefined);
  }
  const folder = join(parent, ownedName('imago-'));
  const write = (file: string, value: number) => writeFile(join(folder, file), String(value));
  try {
    await mkdir(folder);
    await write('memory.max', limits.allMemoryBytes);
    await write('pids.max', limits.processes);
  } catch {
    await rmdir(folder).catch(() => undefined);
    return undefined;
  }
  // A kernel without swap accounting has no such file.
  await write('memory.swap.max', 0).catch(() => undefined);
  await write('memory.oom.group', 1).catch(() => undefined);
  return {
    words: ['/bin/sh', '-euc', enterScript, 'sh', folder],
    async ranOutOfMemory() {
      const events = await readFile(join(folder, 'memory.events'), 'utf8').catch(() => '');
      return /^oom_kill [1-9]/m.test(events);
    },
    async end() {
      await write('cgroup.kill', 1).catch(() => undefined);
      for (let tries = 0; tries < removeTries; tries += 1) {
        const removed = await rmdir(folder).then(
          () => true,
          () => false,
        );
        if (removed) return;
        await sleep(removePauseMs);
      }
    },
  };
}
