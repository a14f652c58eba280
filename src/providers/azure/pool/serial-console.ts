// The serial console of a machine, through boot diagnostics: what its kernel writes, and the documents of its agent.
import { defaultRetry, withRetry } from '../../../async/retry.ts';
import { isFrame, readFrames } from '../../../domain/node/console-frame.ts';
import { type NodeReport, readNodeReport } from '../../../domain/node/report.ts';
import { type Address, actionOf } from '../arm/address.ts';
import { armError } from '../arm/arm-error.ts';
import type { AzureContext } from '../context.ts';

export interface SerialConsole {
  /** Without the documents of the agent. */
  readonly lines: readonly string[];
  /** The reports of that machine since its last start, in order. */
  readonly reports: readonly NodeReport[];
  /** JSON documents. */
  readonly answers: readonly string[];
}

const what = 'reading a serial console';

/** Nothing for a machine that has not started yet. */
export async function readConsole(
  { arm, transport }: AzureContext,
  machine: Address,
  machineId: string,
  signal: AbortSignal,
): Promise<SerialConsole> {
  const address = actionOf(machine, 'retrieveBootDiagnosticsData');
  const started = await arm.post<{ readonly serialConsoleLogBlobUri?: string }>(address, undefined, signal);
  const uri = (await arm.finish(started, signal))?.serialConsoleLogBlobUri;
  if (uri === undefined) return { lines: [], reports: [], answers: [] };
  const reply = await withRetry(defaultRetry, signal, () =>
    transport.send({ method: 'GET', url: new URL(uri), headers: { 'x-ms-version': '2021-12-02' }, signal }),
  );
  if (reply.status === 404) return { lines: [], reports: [], answers: [] };
  if (reply.status !== 200) throw armError(what, reply.status, reply.headers, undefined);
  const lines = reply.body.toString('utf8').split(/\r?\n/);
  const reports = readFrames('report', lines)
    .map(readNodeReport)
    .filter((report) => report !== undefined)
    // A clone's disk can carry nothing of its donor's console, but the console of a name outlives its machine.
    .filter((report) => report.machineId === undefined || report.machineId === machineId.toLowerCase());
  const last = reports.at(-1)?.bootId;
  return {
    lines: lines.filter((line) => !isFrame(line) && line !== ''),
    reports: reports.filter(({ bootId }) => bootId === last),
    answers: readFrames('answer', lines),
  };
}
