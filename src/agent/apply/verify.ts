// Verifies that the node matches its config, by querying the services themselves.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { RunningState } from '../desired/state.ts';
import { kubeletUnit, runtimeUnit, unitTexts } from '../desired/step.ts';
import { getPlain } from '../metadata/plain-http.ts';
import type { System } from '../system/system.ts';

const runtimeSocket = '/run/containerd/containerd.sock';
const kubeletHealth = 'http://127.0.0.1:10248/healthz';

export interface VerifyOptions {
  readonly deadlineMs: number;
  /** All services were started just now, and none was healthy before. */
  readonly boot: boolean;
  readonly mark?: (name: 'runtime' | 'kubelet') => void;
}

/** Throws `node-service-failed` for the first service that is not healthy by the deadline. */
export async function verifyRunning(
  system: System,
  running: RunningState,
  { deadlineMs, boot, mark = () => undefined }: VerifyOptions,
): Promise<void> {
  const end = system.uptimeMs() + deadlineMs;
  if (running.start.includes(runtimeUnit)) {
    if (!boot || !notifiesReady(system, runtimeUnit)) await until(system, end, () => runtimeProblem(system));
    mark('runtime');
  }
  if (running.start.includes(kubeletUnit)) {
    await until(system, end, () => kubeletProblem(system));
    mark('kubelet');
  }
  // They have started, or the start would have failed: a unit with processes still runs.
  const idle = running.start.filter((unit) => !hasProcesses(system, unit));
  await until(system, end, () => unitProblem(system, idle));
}

/** Returns whether the start of the unit finishes only when it reports itself ready, so that a boot needs no query. */
function notifiesReady(system: System, unit: string): boolean {
  const types = unitTexts(system, unit).flatMap((text) => text.match(/^\s*Type\s*=.*/gm) ?? []);
  return types.length > 0 && types.every((type) => /=\s*notify/.test(type));
}

/** Reads this from the kernel: a query to systemd costs the start of a process. */
function hasProcesses(system: System, unit: string): boolean {
  return (system.readText(`/sys/fs/cgroup/system.slice/${unit}/cgroup.procs`) ?? '') !== '';
}

/** A problem, and whether waiting cannot help. */
interface Problem {
  readonly message: string;
  readonly final: boolean;
}

async function until(system: System, end: number, look: () => Promise<Problem | undefined>): Promise<void> {
  let pause = 50;
  for (;;) {
    const problem = await look();
    if (problem === undefined) return;
    if (problem.final || system.uptimeMs() + pause > end) {
      throw new ImagoError('node-service-failed', problem.message);
    }
    await system.sleep(pause);
    pause = Math.min(pause * 2, 1000);
  }
}

/** Calls the health service of gRPC: a frame of five zero bytes queries the entire server. */
async function runtimeProblem(system: System): Promise<Problem | undefined> {
  const { exitCode, stdout, stderr } = await system.run(
    [
      ...['curl', '--silent', '--show-error', '--http2-prior-knowledge', '--unix-socket', runtimeSocket],
      ...['--max-time', '30', '--header', 'content-type: application/grpc', '--header', 'te: trailers'],
      ...['--data-binary', '@-', '--output', '/dev/null', '--dump-header', '-'],
      'http://localhost/grpc.health.v1.Health/Check',
    ],
    { input: '\0\0\0\0\0', timeoutMs: 40_000 },
  );
  if (exitCode === 0 && /^grpc-status: 0\s*$/m.test(stdout)) return undefined;
  const said =
    exitCode === 0
      ? 'it does not serve'
      : (/\) (.*)/.exec(stderr)?.[1] ?? `curl exited with code ${exitCode}`);
  const dead = await failedUnit(system, runtimeUnit);
  return dead ?? { message: `The container runtime is not responding: ${said}.`, final: false };
}

async function kubeletProblem(system: System): Promise<Problem | undefined> {
  const answer = await getPlain(system, kubeletHealth);
  if (answer.kind === 'answer' && answer.status === 200) return undefined;
  const said = answer.kind === 'none' ? answer.why : `status ${answer.status}`;
  const dead = await failedUnit(system, kubeletUnit);
  return dead ?? { message: `The kubelet is not healthy: ${said}.`, final: false };
}

async function failedUnit(system: System, unit: string): Promise<Problem | undefined> {
  const problem = await unitProblem(system, [unit]);
  return problem?.final === true ? problem : undefined;
}

async function unitProblem(system: System, units: readonly string[]): Promise<Problem | undefined> {
  if (units.length === 0) return undefined;
  const { stdout } = await system.run([
    ...['systemctl', 'show', '--property=Id,ActiveState,Result,LoadState,ConditionResult'],
    ...units,
  ]);
  const found = stdout
    .trim()
    .split('\n\n')
    .map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/=(.*)/s))));
  for (const [index, unit] of units.entries()) {
    const problem = stateProblem(unit, found[index] ?? {});
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A unit that exited successfully is as good as one that runs. */
function stateProblem(unit: string, state: Readonly<Record<string, string>>): Problem | undefined {
  const { ActiveState: active, Result: result, LoadState: load } = state;
  if (active === 'active') return undefined;
  if (load === 'not-found') return { message: `The unit ${unit} does not exist.`, final: true };
  if (active === 'failed') return { message: `The unit ${unit} failed (${result}).`, final: true };
  if (active === 'inactive' && result === 'success' && state.ConditionResult !== 'no') return undefined;
  return { message: `The unit ${unit} is ${active ?? 'unknown'}.`, final: false };
}

/** Returns every reason why the node does not match its config, for `imago-agent verify`. */
export async function runningProblems(system: System, running: RunningState): Promise<readonly string[]> {
  const checks = [
    running.start.includes(runtimeUnit) ? await runtimeProblem(system) : undefined,
    running.start.includes(kubeletUnit) ? await kubeletProblem(system) : undefined,
    await unitProblem(system, running.start),
  ];
  return [...new Set(checks.flatMap((problem) => (problem === undefined ? [] : [problem.message])))];
}
