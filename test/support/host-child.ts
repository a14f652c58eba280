// A host of machines in a process of its own, so that it can be another user's and be killed. It takes a line of
// JSON for each call and answers with one; what the host tells comes between. Run as a program:
// node host-child.ts FOLDER SOCKET-FOLDER
// MACHINE_UID in its environment is the user that machines run as, if the child is root.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { chmod, chown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type MachineHostOptions, openMachineHost } from '../../src/providers/local/host/open.ts';
import type { HostEvent, MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { canBeOrdinary, type OrdinaryUser, ordinaryUser } from './ordinary-user.ts';

type Method =
  | 'start'
  | 'stop'
  | 'kill'
  | 'remove'
  | 'status'
  | 'list'
  | 'report'
  | 'console'
  | 'runCommand'
  | 'setMetadata'
  | 'adopt'
  | 'close';

type Result<M extends Method> = Awaited<ReturnType<MachineHost[M]>>;

export interface HostChild {
  readonly pid: number;
  readonly events: readonly HostEvent[];
  call<M extends Method>(method: M, ...args: Parameters<MachineHost[M]>): Promise<Result<M>>;
  /** As `kill -9` does: nothing in it gets to run. */
  kill(): Promise<void>;
}

class HostChildError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Who runs the child: an ordinary user where this process may become one, else whoever runs the tests. */
export interface ChildUser {
  readonly user: OrdinaryUser | undefined;
  /** Gives the folder, with all in it, to that user. */
  give(folder: string): Promise<void>;
}

/** `folder` holds what the user needs to exist, and can be looked into by everyone. */
export async function childUser(folder: string): Promise<ChildUser> {
  await chmod(folder, 0o755);
  const user = canBeOrdinary ? ordinaryUser(folder) : undefined;
  async function give(path: string): Promise<void> {
    if (user === undefined) return;
    await chown(path, user.uid, user.uid);
    if ((await lstat(path)).isDirectory())
      for (const name of await readdir(path)) await give(join(path, name));
  }
  return { user, give };
}

export function startHostChild(
  { user }: ChildUser,
  folder: string,
  socketFolder: string,
  env: Readonly<Record<string, string>> = {},
): HostChild {
  const script = 'test/support/host-child.ts';
  const words = user?.node(script, folder, socketFolder);
  const [program, ...args] = words ?? [process.execPath, import.meta.filename, folder, socketFolder];
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
  });
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  const events: HostEvent[] = [];
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Record<string, unknown>;
    if (message.event !== undefined) events.push(message.event as HostEvent);
    else waiting.get(message.id as number)?.(message);
  });
  let lastId = 0;
  return {
    pid: child.pid ?? 0,
    events,
    async call(method, ...args) {
      lastId += 1;
      const id = lastId;
      const answered = new Promise<Record<string, unknown>>((resolve) => waiting.set(id, resolve));
      child.stdin.write(`${JSON.stringify({ id, method, args })}\n`);
      const lost = gone.then(() => ({ code: 'gone', message: 'the child ended' }));
      const answer: Record<string, unknown> = await Promise.race([answered, lost]);
      if (answer.code !== undefined) throw new HostChildError(String(answer.code), String(answer.message));
      return answer.result as never;
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function serve(folder: string, socketFolder: string): Promise<void> {
  const host = await openMachineHost({
    folder,
    socketFolder,
    ...machineUser(process.env.MACHINE_UID),
    onTrouble: (message, error) => console.error(message, error),
  });
  const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
  host.watch((event) => say({ event }));
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, args } = JSON.parse(line) as { id: number; method: Method; args: unknown[] };
    const call = host[method] as (...given: unknown[]) => unknown;
    const work = Promise.resolve().then(() => call(...args));
    work.then(
      (result) => say({ id, result }),
      (error: Error & { code?: string }) =>
        say({ id, code: error.code ?? 'unknown', message: error.message }),
    );
  });
}

function machineUser(uid: string | undefined): Pick<MachineHostOptions, 'user'> {
  if (uid === undefined) return {};
  return { user: () => ({ name: `#${uid}`, uid: Number(uid), gid: Number(uid) }) };
}

if (process.argv[1] === import.meta.filename) {
  const [, , folder = '.', socketFolder = '.'] = process.argv;
  await serve(folder, socketFolder);
}
