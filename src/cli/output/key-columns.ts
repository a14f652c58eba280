// How keys stand in a table.
import type { AnswerOf } from '../../api/contract/types.ts';
import type { Columns } from './table.ts';

type Key = AnswerOf<'listKeys'>['items'][number];

export const keyColumns = {
  id: (key) => key.id,
  owner: (key) => key.owner ?? 'here',
  state: stateOf,
  from: (key) => (Date.parse(key.validFrom) === 0 ? undefined : key.validFrom),
  until: (key) => key.validUntil,
  reason: (key) => key.revoked,
} satisfies Columns<Key>;

function stateOf({ revoked, signs, owner, validUntil }: Key): string {
  if (revoked !== undefined) return 'revoked';
  if (signs) return 'signs';
  return owner !== undefined && validUntil === undefined ? 'trusted' : 'ended';
}
