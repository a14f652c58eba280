// A host of machines without machines: it keeps what the interface promises, in milliseconds, and its machines
// answer their configs by the rules of the real agent.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { type NodeReport, nodeReportSchema } from '../../src/domain/node/report.ts';
import type {
  HostEvent,
  HostMachine,
  HostMachineStatus,
  MachineEndKind,
  MachineHalt,
  MachineHost,
  MachineReportLine,
} from '../../src/providers/local/qemu/machine-host.ts';
import { answerTo, configRef } from '../../src/providers/sim/machine/node-agent.ts';

interface FakeMachine {
  spec: HostMachine;
  status: HostMachineStatus;
  report: MachineReportLine | undefined;
  heard: { at: string; monotonicMs: number } | undefined;
  console: string[];
  inForce: string;
}

/** What machines do other than come up. */
export interface FakeBehaviour {
  /** `never`: no word is heard; `dies`: its process ends; `fails`: its agent says that it failed. */
  readonly boots?: 'well' | 'never' | 'dies' | 'fails';
  readonly startError?: ImagoError;
}

export interface FakeMachineHost extends MachineHost {
  /** How machines that start from now on behave. */
  behave(behaviour: FakeBehaviour): void;
  /** What happens to a machine without anybody asking. */
  end(id: string, kind: MachineEndKind): void;
  /** The machine stands still, or goes on again. */
  halt(id: string, halt: MachineHalt | undefined): void;
  /** The machine restarts itself, and comes up no more unless its agent speaks. */
  restart(id: string): void;
  /** Its agent says that it is ready, once more. */
  speak(id: string): void;
  readonly starts: readonly HostMachine[];
  /** Machines that were held still, in order. */
  readonly holds: readonly string[];
}

const tick = 2;

export function createFakeMachineHost(): FakeMachineHost {
  const machines = new Map<string, FakeMachine>();
  const listeners = new Set<(event: HostEvent) => void>();
  const starts: HostMachine[] = [];
  const holds: string[] = [];
  let behaviour: FakeBehaviour = {};

  function tell(event: HostEvent): void {
    for (const listener of listeners) listener(event);
  }

  function setStatus(machine: FakeMachine, status: Partial<HostMachineStatus>): void {
    machine.status = { ...machine.status, ...status };
    tell({ kind: 'state', id: machine.spec.id, status: machine.status });
  }

  function say(machine: FakeMachine, phase: NodeReport['phase'], more: Partial<NodeReport> = {}): void {
    const at = new Date().toISOString();
    const document: NodeReport = {
      schema: nodeReportSchema,
      phase,
      at,
      machineId: machine.spec.metadata.machineId,
      bootId: machine.status.startedAt ?? '',
      agentVersion: 'fake',
      steps: [],
      timeline: [],
      pending: [],
      ...more,
    };
    machine.report = { phase, at, document, kernelAt: Date.parse(at), receivedAt: at };
    machine.heard = { at, monotonicMs: performance.now() };
    tell({ kind: 'report', id: machine.spec.id, report: machine.report });
  }

  function userData(machine: FakeMachine): string {
    return Buffer.from(machine.spec.metadata.userData, 'base64').toString();
  }

  function readConfig(machine: FakeMachine): void {
    const wanted = userData(machine);
    const { inForce, ...answer } = answerTo(machine.inForce, wanted, {}, false);
    if (inForce) machine.inForce = wanted;
    const config = configRef(machine.inForce);
    say(machine, 'ready', inForce ? { config } : { config, wanted: configRef(wanted), ...answer });
  }

  function boot(machine: FakeMachine, how: FakeBehaviour['boots'], run: string): void {
    const alive = () => machine.status.state === 'running' && machine.status.startedAt === run;
    setTimeout(() => {
      if (!alive() || how === 'never') return;
      if (how === 'dies') return end(machine, 'crashed');
      say(machine, 'booting');
      setTimeout(() => {
        if (!alive()) return;
        if (how === 'fails') {
          const error = { class: 'operation-failed', message: 'containerd did not start.', retry: false };
          return say(machine, 'failed', { error });
        }
        machine.console.push('imago-agent: ready');
        machine.inForce = userData(machine) || '{}';
        readConfig(machine);
      }, tick);
    }, tick);
  }

  function end(machine: FakeMachine, kind: MachineEndKind): void {
    const { id, forwards } = machine.status;
    const failed = kind === 'crashed' || kind === 'not-started';
    const ending = { kind, at: new Date().toISOString(), message: `The machine ended: ${kind}.` };
    const { startedAt = '' } = machine.status;
    machine.status = { id, state: failed ? 'failed' : 'stopped', startedAt, end: ending, forwards };
    tell({ kind: 'state', id, status: machine.status });
  }

  function isRunning(id: string): boolean {
    return machines.get(id)?.status.state === 'running';
  }

  function requireRunning(id: string): FakeMachine {
    const found = machines.get(id);
    if (found?.status.state === 'running') return found;
    throw new ImagoError('machine-not-running', `Machine ${id} does not run.`);
  }

  /** Free ports are those from 40000 on. */
  function openForwards({ network }: HostMachine): HostMachineStatus['forwards'] {
    const taken = new Set(
      [...machines.values()].flatMap(({ status }) =>
        status.state === 'running' ? status.forwards.map(({ hostPort }) => hostPort) : [],
      ),
    );
    return network.forwards.map(({ guestPort, hostPort }) => {
      if (hostPort !== undefined && taken.has(hostPort)) {
        throw new ImagoError('machine-port-taken', `port ${hostPort} of this computer is in use`);
      }
      return { guestPort, hostPort: hostPort ?? 40_000 + starts.length };
    });
  }

  async function kill(id: string): Promise<void> {
    const found = machines.get(id);
    if (found?.status.state === 'running') end(found, 'stopped');
  }

  return {
    starts,
    holds,
    behave(given) {
      behaviour = given;
    },
    end(id, kind) {
      end(requireRunning(id), kind);
    },
    halt(id, halt) {
      const machine = requireRunning(id);
      const { halt: _before, ...status } = machine.status;
      machine.status = halt === undefined ? status : { ...status, halt };
      tell({ kind: 'state', id, status: machine.status });
    },
    restart(id) {
      const machine = requireRunning(id);
      machine.report = undefined;
      machine.heard = { at: new Date().toISOString(), monotonicMs: performance.now() };
      tell({ kind: 'restarted', id });
    },
    speak: (id) => readConfig(requireRunning(id)),
    async start(spec) {
      if (isRunning(spec.id)) return;
      if (behaviour.startError !== undefined) throw behaviour.startError;
      if (!existsSync(spec.disk))
        throw new ImagoError('machine-start-failed', `There is no disk ${spec.disk}.`);
      const forwards = openForwards(spec);
      starts.push(spec);
      const run = `${new Date().toISOString()} ${starts.length}`;
      const machine: FakeMachine = {
        spec,
        status: { id: spec.id, state: 'starting', startedAt: run, forwards },
        report: undefined,
        heard: undefined,
        console: ['Booting the system from disk'],
        inForce: '{}',
      };
      machines.set(spec.id, machine);
      setStatus(machine, { state: 'running' });
      boot(machine, behaviour.boots, run);
    },
    async stop(id) {
      await new Promise((done) => setTimeout(done, tick));
      await kill(id);
      return { forced: false };
    },
    kill,
    async remove(id) {
      await kill(id);
      machines.delete(id);
    },
    status: (id) => machines.get(id)?.status ?? { id, state: 'absent', forwards: [] },
    list: () => [...machines.values()].map(({ status }) => status),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    report: (id) => machines.get(id)?.report,
    lastHeard(id) {
      const heard = machines.get(id)?.heard;
      return heard && { at: heard.at, ageMs: performance.now() - heard.monotonicMs };
    },
    console: async (id, lines) => machines.get(id)?.console.slice(-lines) ?? [],
    async *followConsole(id, lines) {
      yield* machines.get(id)?.console.slice(-lines) ?? [];
    },
    identify: () => undefined,
    async runCommand(id, script) {
      requireRunning(id);
      const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] });
      const [stdout, stderr, exitCode] = await Promise.all([
        buffer(child.stdout),
        buffer(child.stderr),
        new Promise<number>((done) => child.once('exit', (code) => done(code ?? 1))),
      ]);
      return { exitCode, stdout: stdout.toString(), stderr: stderr.toString(), truncated: false };
    },
    async held(id, work) {
      if (isRunning(id)) holds.push(id);
      return work();
    },
    async openShell(id) {
      requireRunning(id);
      return new PassThrough();
    },
    async tellAgent(id, word) {
      const found = machines.get(id);
      if (found?.status.state !== 'running' || word.kind !== 'allow') return;
      if (configRef(userData(found)).digest !== word.digest) return;
      found.inForce = userData(found);
      readConfig(found);
    },
    async setMetadata(id, metadata) {
      const found = machines.get(id);
      if (found === undefined) throw new ImagoError('machine-not-found', `There is no machine ${id}.`);
      found.spec = { ...found.spec, metadata };
      setTimeout(() => {
        if (found.status.state === 'running' && found.report?.phase === 'ready') readConfig(found);
      }, tick);
    },
    adopt: async () => undefined,
    async close({ leaveRunning }) {
      if (!leaveRunning) for (const id of machines.keys()) await kill(id);
    },
  };
}
