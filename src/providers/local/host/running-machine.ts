// One running machine, as the daemon serves it: its control connection, its ports, and the services that it can call.
// The daemon can release all of it, and the next one can serve it again, without the machine noticing.
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { InterfaceFacts } from '../imds/instance-document.ts';
import type { TokenIssuer } from '../imds/local-token.ts';
import type { MachineMetadata, PlatformHealth } from '../imds/machine-metadata.ts';
import { startMetadataServer } from '../imds/metadata-server.ts';
import { writeWord } from '../qemu/agent-port.ts';
import { type CommandPort, openCommandPort } from '../qemu/command-port.ts';
import { cutConsole } from '../qemu/console-log.ts';
import { watchHalt } from '../qemu/machine-halt.ts';
import type { AgentWord, MachineHalt, MachineReportLine } from '../qemu/machine-host.ts';
import type { MachineFiles, MachineSockets } from '../qemu/paths.ts';
import { findProcess } from '../qemu/process.ts';
import { connectQmp, type Qmp, type QmpEvent } from '../qemu/qmp.ts';
import { openReportLog } from '../qemu/report-log.ts';

export interface MachineServices {
  readonly id: string;
  readonly sockets: MachineSockets;
  readonly files: MachineFiles;
  readonly interfaces: readonly InterfaceFacts[];
  readonly tokens: TokenIssuer;
  metadata(): MachineMetadata;
  onReport(report: MachineReportLine): void;
  /** The machine restarted itself: earlier reports are obsolete. */
  onRestart(): void;
  /** The hypervisor paused the machine, or resumed it. */
  onHalt(): void;
  onHealth(health: PlatformHealth): void;
  /** Called once, when the process has exited. */
  onGone(): void;
}

export interface RunningMachine {
  readonly commands: CommandPort;
  pid(): number | undefined;
  halt(): MachineHalt | undefined;
  report(): Promise<MachineReportLine | undefined>;
  pressPower(): Promise<void>;
  /** Pauses the machine, with everything that it wrote flushed to its disk, until `go` is called. */
  pause(): Promise<{ go(): Promise<void> }>;
  openShell(): Promise<Duplex>;
  /** Never throws: the reports show whether the agent received it. */
  tellAgent(word: AgentWord): Promise<void>;
  /** Checks whether the process runs, reads new reports, and truncates long files. Called every second. */
  check(): Promise<void>;
  /** Releases the machine. A second call does nothing. */
  close(): Promise<void>;
}

/** Serves a machine whose process runs, or is about to. */
export async function holdMachine(services: MachineServices): Promise<RunningMachine> {
  const { id, sockets, files } = services;
  const metadata = await startMetadataServer({
    imdsSocket: sockets.imds,
    wireSocket: sockets.wire,
    owner: await stat(sockets.folder),
    interfaces: services.interfaces,
    tokens: services.tokens,
    metadata: services.metadata,
    onHealth: services.onHealth,
  });
  const reports = openReportLog(files.report);
  let pid = await findProcess(id, files.pid);
  let qmp: Qmp | undefined;
  let connecting: Promise<Qmp> | undefined;
  let shell: Duplex | undefined;
  let holders = 0;
  let closed = false;
  let gone = false;

  const commands = openCommandPort({ path: sockets.commands, machine: id, listening: commandsListening });

  const halts = watchHalt({ held: () => holders > 0, onChange: services.onHalt });

  function onEvent(said: QmpEvent): void {
    const { event, data } = said;
    halts.hear(said);
    if (event === 'RESET') void restarted();
    if (event === 'VSERPORT_CHANGE' && data?.id === 'commands-port' && data.open === false)
      commands.fail('the machine closed its command port');
  }

  async function restarted(): Promise<void> {
    commands.fail('the machine restarted');
    await reports.clear().catch(() => undefined);
    if (!closed) services.onRestart();
  }

  function hold(connection: Qmp): Qmp {
    qmp = connection;
    halts.doubt();
    void connection.ended.then(() => {
      qmp = undefined;
      if (!closed) void check();
    });
    return connection;
  }

  async function control(): Promise<Qmp> {
    if (qmp !== undefined) return qmp;
    connecting ??= connectQmp(sockets.qmp, onEvent)
      .then(hold)
      .finally(() => {
        connecting = undefined;
      });
    return connecting;
  }

  async function commandsListening(): Promise<boolean> {
    const devices = (await (await control()).execute('query-chardev')) as readonly Record<string, unknown>[];
    return devices.some((device) => device.label === 'commands' && device['frontend-open'] === true);
  }

  async function readReports(): Promise<void> {
    const report = await reports.read().catch(() => undefined);
    if (report !== undefined && !closed) services.onReport(report);
  }

  async function check(): Promise<void> {
    if (closed || gone) return;
    await readReports();
    pid = await findProcess(id, files.pid);
    if (closed || gone) return;
    if (pid === undefined) {
      gone = true;
      await readReports();
      commands.fail('the machine stopped');
      services.onGone();
      return;
    }
    await cutConsole(files).catch(() => undefined);
    commands.keep();
    const connection = qmp ?? (await control().catch(() => undefined));
    if (connection !== undefined) await halts.look(connection).catch(() => undefined);
  }

  const watcher = watchFile(files.report, () => void readReports());

  return {
    commands,
    pid: () => pid,
    halt: () => halts.halt,
    check,
    async report() {
      await readReports();
      return reports.last;
    },
    tellAgent: (word) => writeWord(files, word),
    async pressPower() {
      await (await control()).execute('system_powerdown');
    },
    async pause() {
      const go = async () => {
        holders -= 1;
        if (holders === 0 && !closed && !gone) await (await control()).execute('cont');
      };
      holders += 1;
      try {
        await (await control()).execute('stop');
      } catch (error) {
        await go().catch(() => undefined);
        throw error;
      }
      return { go };
    },
    async openShell() {
      if (shell !== undefined && !shell.destroyed)
        throw new ImagoError('machine-shell-busy', `Another user has the shell of machine ${id} open.`);
      const opened = connect(sockets.shell);
      shell = opened;
      await new Promise<void>((resolve, reject) => {
        opened.once('connect', resolve);
        opened.once('error', reject);
      });
      return opened;
    },
    async close() {
      if (closed) return;
      closed = true;
      watcher?.close();
      shell?.destroy();
      commands.close();
      qmp?.close();
      await metadata.close();
    },
  };
}

/** The check every second finds what a watcher misses, so a host without free watchers needs none. */
function watchFile(path: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, changed);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
