// Describes parts of versions and operations in one line each.
import type { ResponseOf } from '../../api/contract/types.ts';

export type Signature = ResponseOf<'listSignatures'>['items'][number];

export function describeSignatures(signatures: readonly Signature[]): readonly string[] {
  if (signatures.length === 0) return ['not signed'];
  return signatures.map(({ key, owner, identity, signedAt, counts, expired, problem }) => {
    const by = key === undefined ? 'an unknown key' : `key ${key}`;
    const whose = owner === undefined ? '' : ` of ${owner}`;
    const when = signedAt === undefined ? '' : ` at ${signedAt}`;
    const line = `signed by ${by}${whose} for ${identity}${when}`;
    return counts
      ? `✓ ${line}${expired ? ', with a key that has expired since' : ''}`
      : `✗ ${line}: not valid, ${problem}`;
  });
}

type Support = NonNullable<ResponseOf<'showVersion'>['support']>;

/** Describes the end of support: its day, how far it is, and its source. */
export function describeSupport({ endsOn, daysLeft, by, source, note, setBy }: Support): string {
  const origin =
    source === 'calendar' ? `by the calendar of ${by}` : `set for ${by}${setBy ? ` by ${setBy}` : ''}`;
  const when = daysLeft < 0 ? `ended on ${endsOn}` : `ends on ${endsOn}`;
  return `${when}, ${distance(daysLeft)} (${origin}${note === undefined ? '' : `: ${note}`})`;
}

function distance(daysLeft: number): string {
  if (daysLeft === 0) return 'today';
  const days = Math.abs(daysLeft) === 1 ? '1 day' : `${Math.abs(daysLeft)} days`;
  return daysLeft < 0 ? `${days} ago` : `${days} left`;
}

/** Describes the galleries whose `latest` was not updated. The channel moved all the same. */
export function unsyncedGalleryLines({ unsynced }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Array.isArray(unsynced) || unsynced.length === 0) return [];
  return [...unsynced.map(String), 'Imago retries the galleries that did not respond.'];
}
