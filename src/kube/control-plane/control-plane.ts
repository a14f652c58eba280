// Runs a Kubernetes control plane on this host, in one directory: certificates, data, logs, and the ports that it keeps
// from its first start, because nodes and kubeconfigs name them.
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { throwIfAborted } from '../../async/abort.ts';
import { type ControlPlaneState, hostOfMachines } from '../../domain/cluster/control-plane.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { writeFileDurably } from '../../host/files/durable-files.ts';
import { isSameProcess, type ProcessIdentity } from '../../host/process/identity.ts';
import type { Environment } from '../../host/tools/tools.ts';
import type { ControlPlane } from '../../ports/kube/control-plane.ts';
import { type KubeClient, openKubeClient } from '../cluster.ts';
import { flagsOf } from './flags.ts';
import { ensureJoinRights } from './join-rights.ts';
import { ensurePki } from './pki.ts';
import { findProcesses, lastLines, startService, stopServices } from './processes.ts';
import { findPrograms, type Programs, type Service, services } from './programs.ts';

const settingsSchema = z.object({
  version: z.string(),
  /** It is started with the daemon, after a restart of the host. */
  wanted: z.boolean(),
  ports: z.object({ api: z.int(), etcd: z.int(), peer: z.int() }),
});
type Settings = z.output<typeof settingsSchema>;

export interface LocalControlPlane extends ControlPlane {
  /** Starts it again if it was up when the host or `imago down` stopped it. */
  resume(signal: AbortSignal): Promise<void>;
}

const first = ['etcd', 'kube-apiserver'] as const;
const once = { attempts: 1, firstDelayMs: 0, longestDelayMs: 0 };
const pollMs = 200;
/** An API server on a busy host takes half a minute. */
const startMs = 180_000;

function controlPlaneFolder(home: string): string {
  return join(home, 'control-plane');
}

export function localControlPlane(home: string, env: Environment): LocalControlPlane {
  const folder = controlPlaneFolder(home);
  const kubeconfig = join(folder, 'pki', 'admin.kubeconfig');
  const settingsFile = join(folder, 'settings.json');

  async function readSettings(): Promise<Settings | undefined> {
    if (!existsSync(settingsFile)) return undefined;
    return settingsSchema.parse(JSON.parse(await readFile(settingsFile, 'utf8')));
  }

  const write = (settings: Settings) => writeFileDurably(settingsFile, JSON.stringify(settings), 0o600);
  const serverOf = ({ ports }: Settings) => `https://127.0.0.1:${ports.api}`;

  function stateOf(settings: Settings): ControlPlaneState {
    const running = findProcesses(folder);
    const processes = services.flatMap((name) => {
      const found = running.get(name);
      return found === undefined ? [] : [{ name, pid: found.pid }];
    });
    return { version: settings.version, server: serverOf(settings), kubeconfig, processes };
  }

  async function up({ version, signal, progress }: Parameters<ControlPlane['up']>[0]) {
    const known = await readSettings();
    const programs = findPrograms(version ?? known?.version, env);
    for (const name of ['', 'pki', 'log', 'etcd'])
      await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
    const settings = { version: programs.version, wanted: true, ports: known?.ports ?? (await freePorts()) };
    // Another version takes over the data.
    if (known !== undefined && known.version !== programs.version) await stopServices(folder);
    await write(settings);
    await ensurePki(join(folder, 'pki'), serverOf(settings), ['127.0.0.1', hostOfMachines]);
    const running = new Map(findProcesses(folder));
    const client = await openKubeClient({ kubeconfig }, { timeoutMs: 5000, retry: once });
    try {
      // The others exit if the API server does not respond within seconds.
      for (const service of first) start(service, programs, settings, running, progress);
      await waitUntilReady(client, settings, running, signal);
      await ensureJoinRights(client, { signal });
      for (const service of services) start(service, programs, settings, running, progress);
      await requireRunning(services, settings, running);
      const system = await client.get('namespaces', { name: 'kube-system' }, { signal });
      return { ...stateOf(settings), uid: system?.metadata.uid ?? '' };
    } finally {
      client.close();
    }
  }

  function start(
    service: Service,
    { paths }: Programs,
    { ports }: Settings,
    running: Map<Service, ProcessIdentity>,
    progress: ((sentence: string) => void) | undefined,
  ): void {
    if (running.has(service)) return;
    progress?.(`Starting ${service}`);
    const started = startService(folder, service, paths[service], flagsOf(service, folder, ports));
    if (started !== undefined) running.set(service, started);
  }

  async function waitUntilReady(
    client: KubeClient,
    settings: Settings,
    running: ReadonlyMap<Service, ProcessIdentity>,
    signal: AbortSignal,
  ): Promise<void> {
    const end = performance.now() + startMs;
    for (;;) {
      throwIfAborted(signal);
      await requireRunning(first, settings, running);
      let why = 'it is not ready';
      try {
        if (await client.isReady({ signal })) return;
      } catch (thrown) {
        why = ensureImagoError(thrown).message;
      }
      if (performance.now() > end)
        throw new ImagoError(
          'control-plane-failed',
          `The API server is not ready after ${startMs / 1000} s: ${why}`,
        );
      await sleep(pollMs);
    }
  }

  async function requireRunning(
    wanted: readonly Service[],
    settings: Settings,
    running: ReadonlyMap<Service, ProcessIdentity>,
  ): Promise<void> {
    for (const service of wanted) {
      const found = running.get(service);
      if (found === undefined || !isSameProcess(found)) throw await exited(service, settings);
    }
  }

  async function exited(service: Service, { ports }: Settings): Promise<ImagoError> {
    const said = await lastLines(folder, service);
    return new ImagoError('control-plane-failed', `${service} exited: ${said}`, {
      ...(said.includes('address already in use') && {
        hint: `Another program uses port ${Object.values(ports).join(', ')} of this host. Stop it, or start again with \`imago cluster down --erase\`.`,
      }),
    });
  }

  return {
    up,
    async look() {
      const settings = await readSettings();
      return settings && stateOf(settings);
    },
    async down({ erase }) {
      const settings = await readSettings();
      if (settings !== undefined) await write({ ...settings, wanted: false });
      await stopServices(folder);
      if (erase) await rm(folder, { recursive: true, force: true });
    },
    async resume(signal) {
      if ((await readSettings())?.wanted === true) await up({ signal });
    },
  };
}

/** Stops the programs, which the next daemon starts again. Returns whether one was running. */
export async function pauseControlPlane(home: string): Promise<boolean> {
  const folder = controlPlaneFolder(home);
  if (!existsSync(folder) || findProcesses(folder).size === 0) return false;
  await stopServices(folder);
  return true;
}

/** Three free ports, reserved together so that they differ. */
async function freePorts(): Promise<Settings['ports']> {
  const servers = await Promise.all(
    ['api', 'etcd', 'peer'].map(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const server = createServer();
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const [api = 0, etcd = 0, peer = 0] = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return { api, etcd, peer };
}
