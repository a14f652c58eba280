// Prototypes: captured versions of one pool. They are an image line without channels; one that the pool accepted overlays
// the version of its channel that it descends from.
import { ImagoError } from '../error/imago-error.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { newestOf, type VersionRecord } from '../image/version.ts';
import { checkName } from '../value/name.ts';

const suffix = '-prototype';

/** Throws `name-malformed` for a pool whose name leaves no room. */
export function prototypeLine(pool: string): string {
  return checkName('image', `${pool}${suffix}`);
}

/** What the gates decided about a prototype, as the details of evidence. */
export interface PrototypeDecision {
  readonly pool: string;
  readonly channel: string;
  /** The digest of the channel's version that it descends from. */
  readonly base: string;
}

export interface PrototypeCandidate {
  readonly version: VersionRecord;
  readonly evidence: readonly Evidence[];
  /** Whether the pool was rolled back from it. */
  readonly isBad: boolean;
}

/**
 * Returns the newest prototype that can be used instead of the channel's version: available, accepted for this pool and
 * channel, and a descendant of that version. `undefined` if new nodes use the channel's version itself.
 */
export function choosePrototype(
  candidates: readonly PrototypeCandidate[],
  wanted: PrototypeDecision,
): VersionRecord | undefined {
  return newestOf(
    candidates
      .filter(({ version, evidence, isBad }) => {
        const newest = evidence.findLast(({ kind }) => kind === 'gates');
        return version.state === 'available' && !isBad && newest?.passed === true && isFor(newest, wanted);
      })
      .map(({ version }) => version),
  );
}

function isFor({ details }: Evidence, { pool, channel, base }: PrototypeDecision): boolean {
  const found = Object(details) as Partial<PrototypeDecision>;
  return found.pool === pool && found.channel === channel && found.base === base;
}

/** Throws `prototype-elsewhere`: what was captured belongs to its pool and cluster. */
export function requireOwnPrototype(
  pool: string,
  { image, version, origin }: Pick<VersionRecord, 'image' | 'version' | 'origin'>,
): void {
  if (origin.kind !== 'captured' || image === `${pool}${suffix}`) return;
  throw new ImagoError(
    'prototype-elsewhere',
    `${image}:${version} was captured in pool ${image.slice(0, -suffix.length)}, and cannot be used in pool ${pool}.`,
  );
}

/** Throws `prototype-elsewhere` if the version was captured: `where` is what others see. */
export function refuseCaptured(
  { image, version, origin }: Pick<VersionRecord, 'image' | 'version' | 'origin'>,
  where: string,
): void {
  if (origin.kind !== 'captured') return;
  throw new ImagoError(
    'prototype-elsewhere',
    `${image}:${version} was captured from a node, and cannot be copied to ${where}.`,
  );
}
