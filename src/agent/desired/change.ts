// The desired content of a path, and whether the path has it.
import type { FileFacts, System } from '../system/system.ts';

export type Wanted =
  | {
      readonly kind: 'file';
      readonly text: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  /** The bytes of another file; always a change: the caller knows that they differ. */
  | {
      readonly kind: 'copy';
      readonly from: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder'; readonly mode: number; readonly uid: number; readonly gid: number }
  | { readonly kind: 'absent' };

/**
 * The action that a changed path requires: `units` reloads unit files, `restart:UNIT` restarts a running unit, the others
 * are named after the reader of the file.
 */
export type Effect =
  | 'hostname'
  | 'limits'
  | 'modules'
  | 'sysctl'
  | 'trust'
  | 'units'
  | `restart:${string}`
  | `stop:${string}`;

export interface Change {
  readonly path: string;
  readonly wanted: Wanted;
  /** The step that requests it. */
  readonly step: string;
  readonly effects: readonly Effect[];
}

export function isAsWanted(system: System, path: string, wanted: Wanted): boolean {
  const facts = system.facts(path);
  switch (wanted.kind) {
    case 'absent':
      return facts === undefined;
    case 'folder':
      return facts?.kind === 'folder';
    case 'link':
      return facts?.kind === 'link' && system.readLink(path) === wanted.target;
    case 'copy':
      return false;
    case 'file':
      return isSameFile(facts, wanted) && system.readText(path) === wanted.text;
  }
}

function isSameFile(facts: FileFacts | undefined, wanted: Extract<Wanted, { kind: 'file' }>): boolean {
  if (facts?.kind !== 'file') return false;
  return facts.mode === wanted.mode && facts.uid === wanted.uid && facts.gid === wanted.gid;
}
