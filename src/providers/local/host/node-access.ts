// Consoles, shells and timelines of the machines of this host.
import type { Duplex } from 'node:stream';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { makeTimeline } from '../../../domain/node/timeline.ts';
import type { NodeAccess, NodeShell } from '../../../ports/provider/access.ts';
import type { HostMachineStatus, MachineHost } from '../qemu/machine-host.ts';

const RESIZE_MS = 5000;

/** What a machine prints when its shell has exited, before it starts the next one. */
const shellEnd = Buffer.from('\u001b]imago;exit\u0007');

export function hostAccess(host: MachineHost): NodeAccess {
  function known(machineId: string): HostMachineStatus {
    const status = host.status(machineId);
    if (status.state !== 'absent') return status;
    throw new ImagoError('machine-not-found', `There is no machine ${machineId} on this host.`);
  }
  return {
    async console(machineId, lines) {
      known(machineId);
      return host.console(machineId, lines);
    },
    async *followConsole(machineId, lines, signal) {
      known(machineId);
      yield* host.followConsole(machineId, lines, signal);
    },
    async timeline(machineId) {
      const { startedAt } = known(machineId);
      const report = host.report(machineId);
      if (report === undefined || startedAt === undefined) return undefined;
      return makeTimeline(report.document, startedAt, report.kernelAt);
    },
    async run(machineId, { script, timeoutMs }, signal) {
      known(machineId);
      const { exitCode, stdout, stderr, truncated } = await host.runCommand(machineId, script, {
        timeoutMs,
        signal,
      });
      return { exitCode, stdout, stderr, truncated };
    },
    async openShell(machineId) {
      known(machineId);
      return shellOf(host, machineId, await host.openShell(machineId));
    },
  };
}

function shellOf(host: MachineHost, machineId: string, stream: Duplex): NodeShell {
  return {
    output: untilShellEnd(stream),
    write: (input) => stream.write(input),
    async resize({ rows, columns }) {
      const script = `stty -F /dev/hvc0 rows ${Math.trunc(rows)} cols ${Math.trunc(columns)}`;
      await host.runCommand(machineId, script, { timeoutMs: RESIZE_MS }).catch(() => undefined);
    },
    close: () => stream.destroy(),
  };
}

/** The mark can arrive in two chunks, so a possible beginning of it is held back. */
async function* untilShellEnd(stream: Duplex): AsyncGenerator<Uint8Array> {
  let held = Buffer.alloc(0);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const text = Buffer.concat([held, chunk]);
      const end = text.indexOf(shellEnd);
      if (end >= 0) {
        if (end > 0) yield text.subarray(0, end);
        return;
      }
      const kept = heldBack(text);
      held = Buffer.from(text.subarray(text.length - kept));
      if (text.length > kept) yield text.subarray(0, text.length - kept);
    }
  } catch {
    return;
  } finally {
    stream.destroy();
  }
}

function heldBack(text: Buffer): number {
  for (let size = Math.min(shellEnd.length - 1, text.length); size > 0; size -= 1)
    if (shellEnd.subarray(0, size).equals(text.subarray(text.length - size))) return size;
  return 0;
}
