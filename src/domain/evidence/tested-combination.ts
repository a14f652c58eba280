// The unit that was tested together. A version's digest says which disk it was; what stood around the disk when
// it passed (Imago itself, the agent, the node config) decides as much about whether it works.
import { canonicalJson } from '../value/canonical-json.ts';
import type { ComposedVersion } from './record.ts';

export type { ComposedRecord, ComposedVersion } from './record.ts';

/** `sha256` answers in hexadecimal. */
export function composedId(composed: ComposedVersion, sha256: (text: string) => string): string {
  return `sha256:${sha256(canonicalJson({ ...composed, nodeConfig: composed.nodeConfig && { ...composed.nodeConfig } }))}`;
}

export interface ComposedDifference {
  /** Of the part, with the part around it: `nodeConfig.digest`. */
  readonly part: string;
  readonly before?: string;
  readonly after?: string;
}

/** The parts in which two differ, in the order in which a composed version is written. */
export function compareComposed(
  before: ComposedVersion,
  after: ComposedVersion,
): readonly ComposedDifference[] {
  const [old, now] = [parts(before), parts(after)];
  return [...old.keys()].flatMap((part) => {
    const [was, is] = [old.get(part), now.get(part)];
    if (was === is) return [];
    return [
      { part, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) },
    ];
  });
}

/** All parts, absent ones too, so that both sides have the same keys. */
function parts(composed: ComposedVersion): ReadonlyMap<string, string | undefined> {
  const { nodeConfig } = composed;
  return new Map([
    ['imago', composed.imago],
    ['image', composed.image],
    ['version', composed.version],
    ['digest', composed.digest],
    ['recipeDigest', composed.recipeDigest],
    ['lockDigest', composed.lockDigest],
    ['agent', composed.agent],
    ['nodeConfig.schemaVersion', nodeConfig?.schemaVersion.toString()],
    ['nodeConfig.digest', nodeConfig?.digest],
    ['kubernetes', composed.kubernetes],
  ]);
}
