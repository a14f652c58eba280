// Evidence: appended, never changed. An operation that repeats a step does not give the same evidence twice.
import type { Kysely } from 'kysely';
import type { Evidence } from '../domain/evidence.ts';
import type { CatalogueContext } from './catalogue-context.ts';
import { toEvidence } from './catalogue-rows.ts';
import { toJson } from './json.ts';
import { lockName } from './locks.ts';
import type { Tables } from './tables.ts';

export async function addEvidence(
  { database, stamp }: CatalogueContext,
  evidence: Omit<Evidence, 'id' | 'at'>,
): Promise<Evidence> {
  const details = toJson(evidence.details);
  return database.write(async ({ tables, emit }) => {
    await lockName('evidence', evidence.digest).execute(tables);
    const known = await listEvidence(tables, evidence.digest);
    const same = known.find((given) => isSame(given, evidence, details));
    if (same !== undefined) return same;
    const row = await tables
      .insertInto('evidence')
      .values({
        digest: evidence.digest,
        kind: evidence.kind,
        passed: evidence.passed,
        summary: evidence.summary,
        details,
        given_by: evidence.by,
        operation: evidence.operation ?? null,
        composed: evidence.composed ?? null,
        at: stamp(),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    const { digest, kind, passed, summary } = evidence;
    emit({ type: 'evidence.added', subject: `digest/${digest}`, data: { kind, passed, summary } });
    return toEvidence(row);
  });
}

/** Oldest first. */
export async function listEvidence(tables: Kysely<Tables>, digest: string): Promise<readonly Evidence[]> {
  const rows = await tables
    .selectFrom('evidence')
    .selectAll()
    .where('digest', '=', digest)
    .orderBy('id')
    .execute();
  return rows.map(toEvidence);
}

function isSame(given: Evidence, evidence: Omit<Evidence, 'id' | 'at'>, details: string): boolean {
  return (
    evidence.operation !== undefined &&
    given.operation === evidence.operation &&
    given.kind === evidence.kind &&
    given.passed === evidence.passed &&
    given.summary === evidence.summary &&
    given.by === evidence.by &&
    toJson(given.details) === details
  );
}
