// What is known of digests: tests, scans and approvals, as they were added. Adding is in evidence-add.ts.
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Evidence } from '../../domain/evidence/record.ts';
import type { Tables } from '../connection/tables.ts';
import { evidences } from './records.ts';

/** Oldest first. */
export function listEvidence(tables: Kysely<Tables>, digest: string): Promise<readonly Evidence[]> {
  return evidences.all(tables, { digest }, 'id');
}

/** Whether the newest test of the digest in this column failed. */
export function newestTestFailed(column: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from imago.evidence failed
    where failed.digest = ${sql.ref(column)} and failed.kind = 'test' and not failed.passed and not exists (
      select from imago.evidence later
      where later.digest = failed.digest and later.kind = 'test' and later.id > failed.id and later.passed
        and later.details ->> 'partial' is distinct from 'true'))`;
}
