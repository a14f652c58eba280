// Whether there is anything to do at all, told without reading the whole agent: the same userData as at the last
// apply of this boot, no path changed since, every unit running, and that apply settled. This part is loaded alone, and
// so stays small.
import { journalFolder } from '../system/paths.ts';
import type { System } from '../system/system.ts';

export interface QuickFacts {
  readonly userData: string;
  /** Inode, size, mode, owner and time of change of each path; `-` for one that is not there. */
  readonly paths: Readonly<Record<string, string>>;
  /** Units with the run that they are in, as systemd names it; empty where it does not say. */
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
  // Folders change with what others put into them.
  if (facts.kind === 'folder') return 'folder';
  const { inode, size, mode, uid, gid, changedMs } = facts;
  return [inode, size, mode, uid, gid, changedMs].join(' ');
}

/** systemd keeps a link for each unit that is up; it goes when the unit ends, and is another one after a restart. */
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
