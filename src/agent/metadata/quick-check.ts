// Checks whether there is anything to do, without loading the entire agent: the same userData as in the last apply of this
// boot, no path changed since, every unit running, and that apply settled. This part is loaded alone, so it stays small.
import { journalFolder } from '../system/paths.ts';
import type { System } from '../system/system.ts';

export interface QuickFacts {
  readonly userData: string;
  /** Inode, size, mode, owner, and change time of each path; `-` for a missing one. */
  readonly paths: Readonly<Record<string, string>>;
  /** Units with their invocation id in systemd; empty if unknown. */
  readonly units: Readonly<Record<string, string>>;
}

export function quickFacts(
  system: System,
  userData: string,
  paths: readonly string[],
  units: readonly string[],
): QuickFacts {
  return {
    userData,
    paths: Object.fromEntries(paths.map((path) => [path, fingerprint(system, path)])),
    units: Object.fromEntries(units.map((unit) => [unit, currentRun(system, unit)])),
  };
}

function fingerprint(system: System, path: string): string {
  const facts = system.facts(path);
  if (facts === undefined) return '-';
  // Directories change with files of others.
  if (facts.kind === 'folder') return 'folder';
  const { inode, size, mode, uid, gid, changedMs } = facts;
  return [inode, size, mode, uid, gid, changedMs].join(' ');
}

/** systemd has a link for each active unit, which changes with a restart. */
function currentRun(system: System, unit: string): string {
  return system.readLink(`/run/systemd/units/invocation:${unit}`) ?? '';
}

export async function isNothingToDo(
  system: System,
  facts: QuickFacts,
  readUserData: () => Promise<string | undefined>,
): Promise<boolean> {
  if (system.facts(journalFolder) !== undefined) return false;
  for (const [path, known] of Object.entries(facts.paths)) {
    if (fingerprint(system, path) !== known) return false;
  }
  const units = Object.entries(facts.units);
  if (units.some(([unit, run]) => run !== '' && currentRun(system, unit) !== run)) return false;
  if ((await readUserData()) !== facts.userData) return false;
  const unknown = units.filter(([, run]) => run === '').map(([unit]) => unit);
  if (unknown.length === 0) return true;
  const { stdout } = await system.run(['systemctl', 'is-active', ...unknown]);
  const lines = stdout.trim().split('\n');
  return lines.length === unknown.length && lines.every((line) => line === 'active');
}
