// Reports what the agent does to /run/imago/status.json, to the host of the machine, and to the log.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import {
  type NodeError,
  type NodeReport,
  type NodeStep,
  nodeReportSchema,
} from '../../domain/node/report.ts';
import { statusPath } from '../system/paths.ts';
import { diskFull } from '../system/program-error.ts';
import { bootIdOf, readRecord, replaceRunFile, type System, SystemFault } from '../system/system.ts';

export interface Reporter {
  /** Removes fields that are `undefined`. */
  update(change: ReportChange): void;
  /** Runs a step and reports its outcome; `unchanged` if the work returns false. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Forgets the steps of an earlier apply. */
  clearSteps(): void;
  /** Records the first time that a mark is reached in this boot. */
  mark(name: string, ms?: number): void;
  current(): NodeReport;
  /** Texts that are never written anywhere. */
  hide(secrets: readonly string[]): void;
  /** Sends the last document again. */
  repeat(): void;
}

type Optional = 'machineId' | 'config' | 'wanted' | 'error' | 'waiting';

export type ReportChange = {
  readonly [K in Optional]?: NodeReport[K] | undefined;
} & Partial<Pick<NodeReport, 'phase' | 'pending'>>;

export function createReporter(system: System, agentVersion: string, send: (line: string) => void): Reporter {
  const bootId = bootIdOf(system);
  // The agent can be restarted within a boot: its marks stay.
  const earlier = readRecord<NodeReport>(system, statusPath);
  let secrets: readonly string[] = [];
  let steps: NodeStep[] = [];
  let report: NodeReport = {
    schema: nodeReportSchema,
    phase: 'booting',
    at: now(),
    bootId,
    agentVersion,
    steps,
    timeline: earlier?.bootId === bootId ? earlier.timeline : [],
    pending: [],
  };

  function now(): string {
    return new Date(system.clockMs()).toISOString();
  }

  function written(): string {
    return secrets.reduce((text, secret) => text.replaceAll(secret, '(secret)'), JSON.stringify(report));
  }

  function publish(): void {
    report = { ...report, at: now(), steps: [...steps] };
    try {
      replaceRunFile(system, statusPath, `${written()}\n`, 0o644);
    } catch (thrown) {
      if (!(thrown instanceof SystemFault)) throw thrown;
      system.log(`the status could not be written: ${thrown.message}`);
    }
    send(written());
  }

  function update(change: ReportChange): void {
    const before = report.phase;
    const next: Record<string, unknown> = { ...report, ...change };
    for (const [key, value] of Object.entries(next)) if (value === undefined) delete next[key];
    report = next as unknown as NodeReport;
    if (report.phase !== before) system.log(`${report.phase}${errorText(report.error, secrets)}`);
    else if (change.error !== undefined) system.log(`error${errorText(change.error, secrets)}`);
    publish();
  }

  return {
    update,
    clearSteps() {
      steps = [];
    },
    async step(name, work) {
      const startedMs = system.uptimeMs();
      const at = steps.push({ name, state: 'running', startedMs, durationMs: 0 }) - 1;
      const end = (state: NodeStep['state'], error?: NodeError) => {
        const durationMs = system.uptimeMs() - startedMs;
        steps[at] = { name, state, startedMs, durationMs, ...(error && { error }) };
      };
      try {
        const result = await work();
        end(result === false ? 'unchanged' : 'done');
        return result;
      } catch (thrown) {
        end('failed', nodeError(thrown));
        throw thrown;
      }
    },
    mark(name, ms = system.uptimeMs()) {
      if (report.timeline.some((one) => one.name === name)) return;
      const timeline = [...report.timeline, { name, ms: Math.round(ms) }].sort((a, b) => a.ms - b.ms);
      report = { ...report, timeline };
    },
    current: () => report,
    hide(next) {
      secrets = [...new Set([...secrets, ...next])];
    },
    repeat: () => send(written()),
  };
}

function errorText(error: NodeError | undefined, secrets: readonly string[]): string {
  if (error === undefined) return '';
  const text = `: ${error.message} (${error.class})`;
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '(secret)'), text);
}

export function nodeError(thrown: unknown): NodeError {
  const error = thrown instanceof SystemFault ? faultError(thrown) : ensureImagoError(thrown);
  return {
    class: error.code,
    message: error.message,
    retry: error.retryable,
    ...(error.hint === undefined ? {} : { remedy: error.hint }),
  };
}

function faultError(fault: SystemFault): ImagoError {
  if (fault.code === 'ENOSPC') {
    return diskFull(`There is no space left for ${fault.path}.`);
  }
  return new ImagoError('node-apply-failed', `${fault.path} could not be changed (${fault.code}).`);
}
