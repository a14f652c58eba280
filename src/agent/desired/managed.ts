// Which paths belong to the node config: when a config no longer names one, it is taken away, or what the image had
// there comes back.

import { managedPath } from '../system/paths.ts';
import type { System } from '../system/system.ts';
import type { Effect, Wanted } from './change.ts';

export interface ManagedPath {
  /** What in the config asked for it, e.g. `files` or `hotfix:kubelet`. */
  readonly owner: string;
  readonly effects: readonly Effect[];
  /** What the image has there; absent when it has nothing. */
  readonly original?: Wanted;
}

export interface Managed {
  readonly paths: Readonly<Record<string, ManagedPath>>;
  /** Users that configs made. */
  readonly users: readonly string[];
}

export function readManaged(system: System): Managed {
  const text = system.readText(managedPath);
  return text === undefined ? { paths: {}, users: [] } : (JSON.parse(text) as Managed);
}

export function writtenManaged(managed: Managed): string {
  const paths = Object.fromEntries(Object.entries(managed.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ paths, users: [...managed.users].sort() })}\n`;
}
