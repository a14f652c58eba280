// What is on the disk of a simulated Windows. It goes wherever the disk goes: into snapshots, versions, and machines.
import { sealedState } from '../../../domain/build/windows-job.ts';
import type { RecipeWindows } from '../../../domain/recipe/recipe.ts';

export interface WindowsGuest {
  readonly build: number;
  ubr: number;
  imageState: string;
  tag: boolean;
  /** States of packages by the number of their update, and the build that each brings. */
  readonly updates: Record<string, { state: number; build?: string | undefined }>;
  readonly features: string[];
  /** By path and name. */
  readonly registry: Record<string, { type: string; value: string | number | readonly string[] }>;
  readonly services: Record<string, string>;
  /** Contents by path, with slashes. */
  readonly files: Record<string, string>;
  pending: string[];
  errors: string;
  /** How often it restarted itself. */
  restarts: number;
  /** Of the machine and its boot in which it was last asked. */
  boot: string;
  readonly habits: readonly string[];
}

/** As the component store counts them. */
export const packageStates = { staged: 0x40, pending: 0x60, installed: 0x70 };

/** The disk of a base, as its recipe describes it: generalized, with what the agent of a cloud leaves. */
export function windowsGuest({ base }: RecipeWindows, habits: readonly string[]): WindowsGuest {
  const [build, ubr] = (base?.build ?? '20348.1129').split('.').map(Number);
  const updates = (base?.updates ?? []).map((kb) => [
    kb,
    { state: packageStates.installed, build: base?.build },
  ]);
  return {
    ...{ build: build ?? 0, ubr: ubr ?? 0, imageState: sealedState, tag: true },
    updates: Object.fromEntries(updates),
    ...{ features: [], registry: {}, services: {}, pending: [], errors: '', restarts: 0, boot: '', habits },
    files: { 'WindowsAzure/Logs/agent.log': 'started', 'Windows/Temp/setup.log': 'done' },
  };
}
