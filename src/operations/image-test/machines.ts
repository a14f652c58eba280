// The machines of a test: created with names that follow from the operation, awaited, probed, and deleted.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { ProbeAnswer } from '../../domain/image-test/image-check.ts';
import { type Firmware, firmwares } from '../../domain/image-test/operations.ts';
import { type Probe, probeScript, readProbes } from '../../domain/image-test/probe-script.ts';
import type { NodeReport } from '../../domain/node/report.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { MachineReport, Machines } from '../../ports/provider/machines.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import { requireRole } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';

export interface TestTarget {
  readonly provider?: string | undefined;
  readonly firmware?: readonly Firmware[] | undefined;
}

export interface TestMachine {
  readonly name: string;
  readonly firmware: Firmware;
}

/** The result of a machine's start. */
export interface BootOutcome {
  readonly name: string;
  readonly phase: MachineReport['phase'];
  /** Why it is not ready. */
  readonly error?: string;
  readonly report?: NodeReport;
  /** From its start until it was seen ready. */
  readonly readyAfterMs?: number;
}

const removalDeadlineMs = 5 * 60_000;
const shellDeadlineMs = 60_000;
const askTimeoutMs = 20 * 60_000;
const consoleLines = 15;

export interface TestBench {
  readonly provider: Provider;
  readonly machines: Machines;
  /** The two that run concurrently come first. */
  readonly all: readonly TestMachine[];
  readonly options: CallOptions;
}

/** Two machines at least: what must differ between them can be compared. */
export function testBench(run: Run<TestTarget>): TestBench {
  const provider = run.provider(run.input.provider);
  const stem = `test-${run.sha256(run.operation.id).slice(0, 12)}`;
  const asked = run.input.firmware ?? (provider.abilities.simulated ? ['direct'] : firmwares);
  const kinds = asked.length === 1 ? [...asked, ...asked] : asked;
  return {
    provider,
    machines: requireRole(provider, 'machines'),
    all: kinds.map((firmware, index) => ({
      name: `${stem}-${String.fromCharCode('a'.charCodeAt(0) + index)}`,
      firmware,
    })),
    options: run.call,
  };
}

/** The two that run concurrently and are compared. */
export function firstTwo({ all }: TestBench): readonly TestMachine[] {
  return all.slice(0, 2);
}

export async function startMachine(
  run: Run<TestTarget, { readonly resolve: Resolution }>,
  { machines, options }: TestBench,
  { name, firmware }: TestMachine,
  userData: string,
): Promise<void> {
  const { image, version, digest } = run.result('resolve');
  const tags = { operation: run.operation.id };
  await machines.createMachine(
    { name, image, version, digest, size: 'small', firmware, userData, tags },
    options,
  );
}

/** A machine that is not ready in time has failed, with the last lines of its console; nothing is thrown. */
export async function bootOutcome(
  bench: TestBench,
  name: string,
  deadlineMs: number,
  /** A report of this boot is an old one. */
  notBoot?: string,
): Promise<BootOutcome> {
  const { provider, machines, options } = bench;
  const began = provider.clock.now();
  try {
    const report = await settle(
      () => verdictOf(bench, name, notBoot),
      waiting(bench, deadlineMs, `Machine ${name}`),
    );
    const seenMs = provider.clock.now() - began;
    return {
      name,
      phase: report.phase,
      ...(report.node === undefined ? {} : { report: report.node }),
      ...(report.phase === 'ready'
        ? { readyAfterMs: bootToReady(report.node) ?? seenMs }
        : { error: await withConsole(bench, name, report.facts.error ?? 'it failed without a reason') }),
    };
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.code !== 'provider-timeout') throw thrown;
    const said = await machines.report(name, options);
    const phase = said === undefined ? 'it never reported' : `it was still ${said.phase}`;
    return {
      name,
      phase: said?.phase ?? 'booting',
      error: await withConsole(bench, name, `not ready after ${Math.round(deadlineMs / 1000)} s: ${phase}`),
    };
  }
}

async function withConsole({ machines, options }: TestBench, name: string, error: string): Promise<string> {
  const lines = await machines.console(name, consoleLines, options);
  return lines.length === 0 ? error : `${error}; its console ends with:\n${lines.join('\n')}`;
}

/** As the machine reports it, from power on. */
function bootToReady(report: NodeReport | undefined): number | undefined {
  const marks = report?.timeline ?? [];
  const ready = marks.find((mark) => mark.name === 'ready');
  return ready && Math.round(ready.ms - Math.min(0, ...marks.map((mark) => mark.ms)));
}

/** The machine's own report, or the provider's about a machine that never reported. */
async function verdictOf(
  { machines, options }: TestBench,
  name: string,
  notBoot: string | undefined,
): Promise<MachineReport | undefined> {
  const report = await machines.report(name, options);
  const isOld = notBoot !== undefined && report?.node?.bootId === notBoot;
  if (!isOld && (report?.phase === 'ready' || report?.phase === 'failed')) return report;
  const machine = await machines.getMachine(name, options);
  if (machine?.state !== 'failed') return undefined;
  const error = machine.error?.message ?? 'the machine failed without a reason';
  return { phase: 'failed', at: machine.createdAt, facts: { error } };
}

/** Runs all scripts in one round trip. Returns nothing if the machine's shell does not respond. */
export async function askMachine(
  bench: TestBench,
  name: string,
  probes: readonly Probe[],
): Promise<ReadonlyMap<string, ProbeAnswer>> {
  const { machines, options } = bench;
  const command = { script: probeScript(probes), timeoutMs: askTimeoutMs };
  const ask = async () => {
    try {
      return await machines.runCommand(name, command, options);
    } catch (thrown) {
      const error = ensureImagoError(thrown);
      if (error.code === 'provider-conflict' && error.retryable) return undefined;
      throw thrown;
    }
  };
  try {
    const { stdout } = await settle(ask, waiting(bench, shellDeadlineMs, `The shell of machine ${name}`));
    return readProbes(stdout, (base64) => Buffer.from(base64, 'base64').toString('utf8'));
  } catch (thrown) {
    if (ensureImagoError(thrown).code === 'provider-timeout') return new Map();
    throw thrown;
  }
}

/** Stops and starts it. Returns the last console lines of the boot that ended. */
export async function restartMachine(bench: TestBench, name: string): Promise<readonly string[]> {
  const { machines, options } = bench;
  const until = (power: 'stopped' | 'running') =>
    settle(
      async () => {
        const machine = await machines.getMachine(name, options);
        if (machine === undefined) throw new ImagoError('provider-not-found', `Machine ${name} is gone.`);
        return machine.power === power || machine.state === 'failed' ? true : undefined;
      },
      waiting(bench, removalDeadlineMs, `Machine ${name}`),
    );
  await machines.stopMachine(name, options);
  await until('stopped');
  const last = await machines.console(name, consoleLines, options);
  await machines.startMachine(name, options);
  await until('running');
  return last;
}

export async function removeMachines(bench: TestBench): Promise<void> {
  const { machines, all, options } = bench;
  for (const { name } of all) await machines.deleteMachine(name, options);
  for (const { name } of all) {
    const what = `The removal of machine ${name}`;
    await settleGone(() => machines.getMachine(name, options), waiting(bench, removalDeadlineMs, what));
  }
}

function waiting({ provider, options }: TestBench, deadlineMs: number, what: string) {
  return { clock: provider.clock, signal: options.signal, deadlineMs, what };
}
