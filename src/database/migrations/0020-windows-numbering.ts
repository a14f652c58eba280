// Numbers of build, revision, and day.
import type { Migration } from './migration.ts';

export const windowsNumbering: Migration = {
  number: 20,
  name: 'windows-numbering',
  sql: `
alter table imago.images drop constraint images_numbering_check;
alter table imago.images add constraint images_numbering_check
  check (numbering in ('semver', 'date', 'calendar', 'kubernetes', 'kubernetes-build', 'windows'));
`,
};
