// Prototypes that overlay the version of a channel, and the evidence of a capture.
import type { Migration } from './migration.ts';

export const prototypes: Migration = {
  number: 18,
  name: 'prototypes',
  sql: `
alter table imago.pools add column base json;
alter table imago.evidence drop constraint evidence_kind_check;
alter table imago.evidence add constraint evidence_kind_check
  check (kind in ('test', 'scan', 'approval', 'capture', 'gates'));
`,
};
