// Whether there is anything to do at all, told without reading the whole agent: the same userData as at the last
// apply of this boot, no path changed since, and every unit running. This part is loaded alone, and so stays small.
import type { System } from './system.ts';

export interface QuickFacts {
  readonly userData: string;
  /** Inode, size, mode, owner and time of change of each path; `-` for one that is not there. */
  readonly paths: Readonly<Record<string, string>>;
  readonly units: readonly string[];
}

export function quickFacts(
  system: System,
  userData: string,
  paths: readonly string[],
  units: readonly string[],
): QuickFacts {
  return {
    userData,
    units,
    paths: Object.fromEntries(paths.map((path) => [path, fingerprint(system, path)])),
  };
}

export function fingerprint(system: Pick<System, 'facts'>, path: string): string {
  const facts = system.facts(path);
  if (facts === undefined) return '-';
  // Folders change with what others put into them.
  if (facts.kind === 'folder') return 'folder';
  const { inode, size, mode, uid, gid, changedMs } = facts;
  return [inode, size, mode, uid, gid, changedMs].join(' ');
}

/** Asks for userData and the units' states at the same time. */
export async function isNothingToDo(
  system: System,
  facts: QuickFacts,
  readUserData: () => Promise<string | undefined>,
): Promise<boolean> {
  for (const [path, known] of Object.entries(facts.paths)) {
    if (fingerprint(system, path) !== known) return false;
  }
  const [userData, states] = await Promise.all([
    readUserData(),
    facts.units.length === 0 ? undefined : system.run(['systemctl', 'is-active', ...facts.units]),
  ]);
  if (userData !== facts.userData) return false;
  if (states === undefined) return true;
  const lines = states.stdout.trim().split('\n');
  return lines.length === facts.units.length && lines.every((line) => line === 'active');
}
