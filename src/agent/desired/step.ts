// The context of an apply step. Steps write into the desired system and name what must run; they change nothing.
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { Host } from '../../install/host.ts';
import type { System } from '../system/system.ts';
import type { Effect } from './change.ts';
import type { Desired, Managed } from './desired.ts';

export interface StepContext {
  readonly config: NodeConfig;
  /** The node's name, from the config or else from the instance metadata. */
  readonly name: string;
  readonly desired: Desired;
  readonly system: System;
  readonly managed: Managed;
  readonly services: DesiredServices;
  /** Fetches what only an apply may fetch. */
  readonly outside: Outside;
}

/** The desired state beyond files. */
export interface DesiredServices {
  /** Units that run when the node is ready, in the order in which they are started. */
  readonly start: Set<string>;
  readonly stop: Set<string>;
  /** Kernel modules that are loaded. */
  readonly modules: Set<string>;
  /** Values of the kernel by the path below /proc/sys or /sys. */
  readonly kernelValues: Map<string, string>;
  /** Whether the metadata service is closed to pods. */
  metadataClosed: boolean;
  /** The size of the swap file; 0 for none. */
  swapMiB: number;
}

export interface Outside {
  /** Fetches a kubeconfig with the machine's identity; returns `undefined` in a plan. */
  bootstrapKubeconfig(identity: IdentitySource): Promise<string | undefined>;
  /** Returns the address of the machine in its network; `undefined` in a plan, or if it is not known. */
  nodeAddress(): Promise<string | undefined>;
  /** Installs a package of the distribution; does nothing in a plan. */
  installPackage(hotfix: PackageHotfix): Promise<void>;
}

export interface IdentitySource {
  readonly url: string;
  readonly resource: string;
  readonly clientId?: string;
  /** Defaults to the authorities that the node trusts. */
  readonly ca?: string;
}

export interface PackageHotfix {
  readonly component: string;
  readonly version: string;
  readonly source: string;
  readonly sha256: string;
}

export interface Step {
  readonly name: string;
  run(context: StepContext): Promise<void>;
}

export const generatedHeader = '# Made by Imago from the node config.\n';

const unitFolders = ['/etc/systemd/system', '/usr/lib/systemd/system'];

export function hasUnit(system: System, name: string): boolean {
  return unitPath(system, name) !== undefined;
}

function unitPath(system: System, name: string): string | undefined {
  return unitFolders.map((folder) => `${folder}/${name}`).find((path) => system.facts(path) !== undefined);
}

/** Returns the text of the unit, followed by those of its drop-ins. */
export function unitTexts(system: System, name: string): readonly string[] {
  const own = unitPath(system, name);
  const beside = unitFolders.flatMap((folder) =>
    system.list(`${folder}/${name}.d`).map((file) => `${folder}/${name}.d/${file}`),
  );
  return [...(own === undefined ? [] : [own]), ...beside].map((path) => system.readText(path) ?? '');
}

/** Returns a host for files that belong to this step. */
export function ownHost({ desired }: StepContext, step: string, ...effects: readonly Effect[]): Host {
  return desired.scope({ step, owner: step, effects });
}

export const runtimeUnit = 'containerd.service';
export const kubeletUnit = 'kubelet.service';

/** The kubelet runs if the config mentions it, standalone if there is no cluster. */
export function wantsKubelet({ config }: StepContext): boolean {
  return config.kubernetes !== undefined || config.kubelet !== undefined;
}

export function sorted<T>(map: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
