// Injected faults. They are stored in the state file, so they outlive the process that they kill, and each is spent before
// it applies, so that it does not kill the next process too.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type Fault, type FaultSpec, faultKinds } from '../../ports/provider/sim-control.ts';
import type { World } from '../state/state-file.ts';

export interface SimFaults {
  /** Injects a fault; two of the same spec are two faults. Throws `input-invalid` for an invalid spec. */
  add(spec: FaultSpec): Fault;
  /** All that were not removed, spent ones too, in the order in which they were added. */
  list(): readonly Fault[];
  /** `false` when there is no such fault. */
  remove(id: number): boolean;
  clear(): void;
}

interface FaultRow {
  readonly id: number;
  readonly spec: string;
  readonly spent: number;
  readonly seen: number;
  readonly hits: number;
}

export function createFaults(world: World): SimFaults {
  return {
    add(spec) {
      checkFault(spec);
      return world.transaction(() => {
        world.insert('fault', { spec: JSON.stringify(spec) });
        const row = world.get<FaultRow>('SELECT * FROM fault ORDER BY id DESC LIMIT 1');
        if (row === undefined) throw new ImagoError('internal', 'The ordered fault was not kept.');
        return fromRow(row);
      });
    },
    list: () => world.all<FaultRow>('SELECT * FROM fault ORDER BY id').map(fromRow),
    remove: (id) => world.transaction(() => world.run('DELETE FROM fault WHERE id = ?', id)) > 0,
    clear() {
      world.transaction(() => world.run('DELETE FROM fault'));
    },
  };
}

/** Inside a transaction: returns the fault that applies to this call, and counts it. Every matching fault has seen it. */
export function takeFault(
  world: World,
  { call, name, gallery }: { readonly call: string; readonly name: string; readonly gallery?: string },
): Fault | undefined {
  let taken: Fault | undefined;
  for (const row of world.all<FaultRow>('SELECT * FROM fault WHERE spent = 0 ORDER BY id')) {
    const fault = fromRow(row);
    if (!matches(fault.call, call) || !matches(fault.name ?? '*', name)) continue;
    if (fault.gallery !== undefined && fault.gallery !== gallery) continue;
    const seen = fault.seen + 1;
    const strikes = taken === undefined && seen > (fault.after ?? 0);
    const hits = fault.hits + (strikes ? 1 : 0);
    const spent = fault.count !== 'always' && hits >= (fault.count ?? 1);
    world.run(
      'UPDATE fault SET seen = ?, hits = ?, spent = ? WHERE id = ?',
      seen,
      hits,
      spent ? 1 : 0,
      fault.id,
    );
    if (strikes) taken = { ...fault, seen, hits, spent };
  }
  return taken;
}

function fromRow({ id, spec, spent, seen, hits }: FaultRow): Fault {
  return { ...(JSON.parse(spec) as FaultSpec), id, seen, hits, spent: spent === 1 };
}

export function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}

function checkFault(spec: FaultSpec): void {
  const problem = faultProblem(spec);
  if (problem !== undefined)
    throw new ImagoError('input-invalid', `The fault cannot be ordered: ${problem}.`);
}

function faultProblem(spec: FaultSpec): string | undefined {
  if (!faultKinds.includes(spec.kind)) return `there is no kind ${spec.kind} (${faultKinds.join(', ')})`;
  if (!/^[a-zA-Z*]+(\.[a-zA-Z*]+)?$/.test(spec.call))
    return `${JSON.stringify(spec.call)} is not ROLE.METHOD`;
  if (!isCount(spec.after ?? 0, 0)) return 'after must be a whole number from 0';
  if (spec.count !== 'always' && !isCount(spec.count ?? 1, 1)) return 'count must be a whole number from 1';
  if (!((spec.ms ?? 0) >= 0)) return 'ms must not be negative';
  return (spec.factor ?? 1) > 0 ? undefined : 'factor must be above 0';
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}
