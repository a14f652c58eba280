// A move whose statement was signed by a key that was revoked can be signed anew: the earlier statements stay.
import type { Migration } from './migration.ts';

export const signedAnew: Migration = {
  number: 9,
  name: 'signed-anew',
  sql: `
alter table imago.attestations drop constraint attestations_pkey;
-- The newest of a move is its statement.
alter table imago.attestations add id bigint generated always as identity primary key;
create index attestations_by_move on imago.attestations (move, id);
`,
};
