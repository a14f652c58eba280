// Opens and stops the local provider of a state directory, and its QEMU machines. Machines outlive the daemon; the state
// directory has what is needed to find them again.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseServiceUser, type Service } from '../../host/process/system-user.ts';
import { systemClock } from '../../host/system-clock.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { LocalProvider } from '../../providers/local/provider.ts';
import type { MachineHost } from '../../providers/local/qemu/machine-host.ts';
import { secureFolder } from '../process/paths.ts';

/** Returns the directory of the provider. */
export function localFolder(home: string): string {
  return join(home, 'local');
}

export interface OpenLocalOptions {
  readonly home: string;
  /** Directory for the sockets of machines, unless machines of an earlier daemon use another one. */
  readonly socketFolder: string;
  readonly processEnv: ProcessEnvironment;
  readonly store: DiskStore;
  readonly builder: Builder;
  readonly onTrouble: (message: string, error: unknown) => void;
  readonly onRepaired?: (what: string) => void;
}

/** Adopts the machines of an earlier daemon, and resumes its work. */
export async function openLocal(options: OpenLocalOptions): Promise<LocalProvider> {
  const { store, builder, onTrouble, onRepaired = () => undefined } = options;
  const host = await openHost(options);
  try {
    const { createLocalProvider } = await import('../../providers/local/provider.ts');
    const folder = localFolder(options.home);
    return await createLocalProvider({
      folder,
      store,
      host,
      builder,
      clock: systemClock,
      onTrouble,
      onRepaired,
    });
  } catch (thrown) {
    await host.close({ leaveRunning: true });
    throw thrown;
  }
}

type HostOptions = Pick<OpenLocalOptions, 'home' | 'socketFolder' | 'processEnv' | 'onTrouble'>;

/** The user that machines run as if the daemon is root: not PostgreSQL's, so that no machine can reach the database. */
export const machineService: Service = {
  user: 'imago-vm',
  variable: 'IMAGO_MACHINE_USER',
  code: 'machine-user',
};

async function openHost(options: HostOptions): Promise<MachineHost> {
  const { openMachineHost } = await import('../../providers/local/host/open.ts');
  const folder = join(localFolder(options.home), 'host');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socketFolder = keptSocketFolder(folder, options.socketFolder);
  const { env, uid } = options.processEnv;
  secureFolder(socketFolder, { uid, gid: process.getgid?.() ?? 0 }, uid === 0 ? 0o711 : 0o700);
  return openMachineHost({
    ...{ folder, socketFolder, onTrouble: options.onTrouble },
    ...(uid === 0 ? { user: () => chooseServiceUser(machineService, env) } : {}),
  });
}

/** Leaves machines running, unless the state directory was deleted: they could not be found again. */
export async function closeLocal(provider: Provider | LocalProvider, home: string): Promise<void> {
  if ('host' in provider && !existsSync(home)) {
    const { host } = provider;
    await Promise.all(host.list().map(({ id }) => host.kill(id)));
  }
  await provider.close();
}

/** Machines keep the socket directory that they were started with, even if the environment changed. */
function keptSocketFolder(folder: string, wanted: string): string {
  const file = join(folder, 'socket-folder');
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  if (kept !== '' && existsSync(kept)) return kept;
  if (kept !== wanted) writeFileSync(file, `${wanted}\n`, { mode: 0o600 });
  return wanted;
}

/**
 * Stops the machines of a state directory without a daemon, and records that the next daemon must start them. Returns their
 * number.
 */
export async function stopLocalMachines(
  options: HostOptions & { readonly deadlineMs?: number },
): Promise<number> {
  if (!existsSync(join(localFolder(options.home), 'host'))) return 0;
  const host = await openHost(options);
  const { noteStopped } = await import('../../providers/local/resume.ts');
  const { isLive } = await import('../../providers/local/qemu/machine-host.ts');
  await host.adopt();
  const running = host
    .list()
    .filter(isLive)
    .map(({ id }) => id);
  noteStopped(localFolder(options.home), running);
  await host.close({
    leaveRunning: false,
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
  });
  removeEmpty(keptSocketFolder(join(localFolder(options.home), 'host'), options.socketFolder));
  return running.length;
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It does not exist, or is not empty.
  }
}
