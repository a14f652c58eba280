// Evidence of how old the packages of a version are.
import type { Migration } from './migration.ts';

export const freshness: Migration = {
  number: 19,
  name: 'freshness',
  sql: `
alter table imago.evidence drop constraint evidence_kind_check;
alter table imago.evidence add constraint evidence_kind_check
  check (kind in ('test', 'scan', 'approval', 'capture', 'gates', 'freshness'));
`,
};
