// Computes the changes that a config requires on this machine, step by step in a fixed order.
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { Change, Effect } from '../desired/change.ts';
import { createDesired, type Fetcher, readManaged } from '../desired/desired.ts';
import { type RunningState, runningState } from '../desired/state.ts';
import type { DesiredServices, Outside, Step, StepContext } from '../desired/step.ts';
import { componentsStep } from '../steps/components.ts';
import { filesStep, unitsStep, usersStep } from '../steps/content.ts';
import { kubeletStep } from '../steps/kubelet.ts';
import { networkStep } from '../steps/network.ts';
import { runtimeStep } from '../steps/runtime.ts';
import { kernelStep, timeStep, trustStep } from '../steps/system.ts';
import type { System } from '../system/system.ts';

const steps: readonly Step[] = [
  ...[trustStep, networkStep, timeStep, kernelStep, usersStep, filesStep],
  ...[componentsStep, runtimeStep, kubeletStep, unitsStep],
];

export interface Rendered {
  readonly changes: readonly Change[];
  readonly effects: readonly Effect[];
  readonly running: RunningState;
  /** Every path that the config determines. */
  readonly paths: readonly string[];
}

export interface RenderOptions {
  readonly config: NodeConfig;
  readonly name: string;
  readonly fetcher: Fetcher;
  readonly outside: Outside;
  /** Runs a step under its name. */
  readonly within: (name: string, work: () => Promise<boolean>) => Promise<unknown>;
}

/** Reads the system and changes nothing but the downloads of `fetcher` and `outside`. */
export async function render(system: System, options: RenderOptions): Promise<Rendered> {
  const { config, name, fetcher, outside, within } = options;
  const managed = readManaged(system);
  const desired = createDesired(system, managed, fetcher);
  const services: DesiredServices = {
    start: new Set(),
    stop: new Set(),
    modules: new Set(),
    kernelValues: new Map(),
    metadataClosed: true,
    swapMiB: 0,
  };
  const context: StepContext = { config, name, desired, system, managed, services, outside };
  for (const step of steps) {
    await within(step.name, async () => {
      await step.run(context);
      return desired.changedBy(step.name);
    });
  }
  const changes = desired.changes();
  return {
    changes,
    effects: [...new Set(changes.flatMap(({ effects }) => effects))],
    running: runningState(services),
    paths: desired.paths(),
  };
}
