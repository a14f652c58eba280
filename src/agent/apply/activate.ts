// Makes the running system match its files: in a fixed order, and only as far as a change requires.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Effect } from '../desired/change.ts';
import type { RunningState } from '../desired/state.ts';
import { runtimeUnit } from '../desired/step.ts';
import { guardMetadata } from '../metadata/guard.ts';
import { configuredPath } from '../system/paths.ts';
import { runOrThrow } from '../system/program-error.ts';
import { prepareSwap } from '../system/swap.ts';
import { replaceRunFile, type System } from '../system/system.ts';
import type { KernelValue } from './apply-journal.ts';
import { removeForeignContainers } from './foreign-containers.ts';

export interface Activation {
  readonly effects: ReadonlySet<Effect>;
  readonly running: RunningState;
  /** The first activation of this boot: nothing that depends on the config runs yet. */
  readonly boot: boolean;
  /** How long units can take to start. */
  readonly deadlineMs?: number;
}

/** It reads every authority of the system again, with several processes for each. */
const trustDeadlineMs = 600_000;
const hostnamePath = '/proc/sys/kernel/hostname';
const stopDeadlineMs = 180_000;
const defaultDeadlineMs = 300_000;

/** Throws `node-apply-failed` or `node-service-failed`. A second call changes nothing that the first one did. */
export async function activate(
  system: System,
  { effects, running, boot, deadlineMs = defaultDeadlineMs }: Activation,
): Promise<void> {
  await followFiles(system, effects, running);
  const open = await guardMetadata(system, running.metadataClosed);
  if (open !== undefined) {
    throw new ImagoError('node-apply-failed', `The metadata service could not be closed to pods: ${open}`);
  }
  replaceRunFile(system, configuredPath, '', 0o644);
  const stopped = [...new Set([...running.stop, ...named(effects, 'stop:')])];
  if (stopped.length > 0) await system.run(['systemctl', 'stop', ...stopped], { timeoutMs: stopDeadlineMs });
  await prepareSwap(system, running.swapMiB ?? 0);
  const restarts = named(effects, 'restart:').filter((unit) => !stopped.includes(unit));
  // Units that the config starts do not run yet at a boot, so they start with the new files.
  const again = boot ? restarts.filter((unit) => !running.start.includes(unit)) : restarts;
  await operate(system, 'try-restart', again, deadlineMs);
  if (running.start.includes(runtimeUnit)) await removeForeignContainers(system);
  await operate(system, 'start', running.start, deadlineMs);
}

/** Applies the effects on the kernel and systemd, and on no service. */
export async function followFiles(
  system: System,
  effects: ReadonlySet<Effect>,
  running: RunningState,
): Promise<void> {
  if (effects.has('hostname')) setHostname(system);
  if (effects.has('modules')) await loadModules(system, running.modules);
  if (effects.has('sysctl')) setKernelValues(system, running.kernelValues);
  if (effects.has('trust'))
    await runOrThrow(system, ['update-ca-certificates'], {
      what: 'The trust anchors could not be updated',
      timeoutMs: trustDeadlineMs,
    });
  if (effects.has('limits'))
    await runOrThrow(system, ['systemctl', 'daemon-reexec'], { what: 'The limits could not be applied' });
  else if (effects.has('units'))
    await runOrThrow(system, ['systemctl', 'daemon-reload'], { what: 'The units could not be read' });
}

/** Returns the current kernel values that the effects would change, for an undo. */
export function currentKernelValues(
  system: System,
  effects: readonly Effect[],
  running: RunningState,
): readonly KernelValue[] {
  const paths = [
    ...(effects.includes('hostname') ? [hostnamePath] : []),
    ...(effects.includes('sysctl') ? running.kernelValues.map(([path]) => path) : []),
  ];
  return paths.flatMap((path) => {
    const text = system.readText(path);
    if (text === undefined) return [];
    // The kernel shows a choice as all options, with the selected one in brackets.
    const chosen = path.startsWith('/sys/') ? /\[(.+?)\]/.exec(text)?.[1] : undefined;
    return [{ path, value: (chosen ?? text).trim() }];
  });
}

function named(effects: ReadonlySet<Effect>, prefix: 'restart:' | 'stop:'): readonly string[] {
  return [...effects].filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
}

async function operate(
  system: System,
  verb: 'start' | 'try-restart',
  units: readonly string[],
  deadlineMs: number,
): Promise<void> {
  if (units.length === 0) return;
  const result = await system.run(['systemctl', verb, ...units], { timeoutMs: deadlineMs });
  if (result.exitCode === 0) return;
  const said = result.timedOut ? `nothing for ${deadlineMs / 1000} s` : result.stderr.trim().split('\n')[0];
  throw new ImagoError(
    'node-service-failed',
    `Not all of ${units.join(', ')} started. systemctl reports: ${said}`,
  );
}

/** An undo can have removed the file; then it has restored the kernel's own value. */
function setHostname(system: System): void {
  const name = system.readText('/etc/hostname')?.trim() ?? '';
  if (name === '' || system.setKernelValue(hostnamePath, name)) return;
  throw new ImagoError('node-apply-failed', `The host name ${name} could not be set.`);
}

async function loadModules(system: System, modules: readonly string[]): Promise<void> {
  if (modules.length === 0) return;
  await runOrThrow(system, ['modprobe', '--all', ...modules], {
    what: 'Not all kernel modules could be loaded',
  });
}

function setKernelValues(system: System, values: RunningState['kernelValues']): void {
  const refused = values.filter(([path, value]) => !system.setKernelValue(path, value)).map(([path]) => path);
  if (refused.length === 0) return;
  throw new ImagoError('node-apply-failed', `The kernel rejects the values of ${refused.join(', ')}.`, {
    hint: 'Check for a name or value that this kernel does not support.',
  });
}
