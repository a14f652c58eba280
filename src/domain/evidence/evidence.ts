// Evidence: the stored result of a test, scan or approval, tied to one digest and to nothing else.
import type { Evidence } from './record.ts';

export type { Evidence } from './record.ts';

/** Whether the newest test of this digest passed. A later failure counts against an earlier success. */
export function testsPassed(digest: string, evidence: readonly Evidence[]): boolean {
  return newestTest(digest, evidence)?.passed === true;
}

/** The newest test that decides. A run that passed with only some kinds of firmware is on record, and decides nothing. */
export function newestTest(digest: string, evidence: readonly Evidence[]): Evidence | undefined {
  let newest: Evidence | undefined;
  for (const item of evidence) {
    if (item.kind !== 'test' || item.digest !== digest || isPartial(item)) continue;
    if (newest === undefined || item.id > newest.id) newest = item;
  }
  return newest;
}

function isPartial({ passed, details }: Evidence): boolean {
  return passed && (Object(details) as { readonly partial?: unknown }).partial === true;
}
