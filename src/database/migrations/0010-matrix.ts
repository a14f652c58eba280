// The Kubernetes versions that the recipe of an image lists, so that retention keeps a version of each.
import type { Migration } from './migration.ts';

export const matrix: Migration = {
  number: 10,
  name: 'matrix',
  sql: `
alter table imago.images add matrix text[] not null default '{}';
`,
};
