// What a path should be, and whether it is.
import type { FileFacts, System } from '../system/system.ts';

export type Wanted =
  | {
      readonly kind: 'file';
      readonly text: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  /** The bytes of another file; always a change: whoever asks for it knows that they are not there yet. */
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
 * What must be done once a path has changed: `units` reads unit files anew, `restart:UNIT` restarts a unit that runs,
 * the others are named after what reads the file.
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
  /** The step that asks for it. */
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
