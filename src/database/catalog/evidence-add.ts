// Evidence: appended, never changed. An operation that repeats a step does not give the same evidence twice. What a test
// says of an available version also decides whether `latest` may point at it.
import type { Kysely } from 'kysely';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import { toJson } from '../connection/json.ts';
import { lockName } from '../connection/locks.ts';
import type { Tables } from '../connection/tables.ts';
import { moveLatest } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence } from './evidence.ts';
import { lockImage } from './lookup.ts';
import { evidences } from './records.ts';

export async function addEvidence(
  context: CatalogueContext,
  evidence: Omit<Evidence, 'id' | 'at'>,
): Promise<Evidence> {
  const { database, stamp } = context;
  const details = toJson(evidence.details);
  return database.write(async (change) => {
    const { tables, emit } = change;
    const images = evidence.kind === 'test' ? await imagesOf(tables, evidence.digest) : [];
    // Images before evidence: in this order channels are moved.
    for (const image of images) await lockImage(tables, image);
    await lockName('evidence', evidence.digest).execute(tables);
    const known = await listEvidence(tables, evidence.digest);
    const same = known.find((given) => isSame(given, evidence, details));
    if (same !== undefined) return same;
    const added = await evidences.insert(tables, evidences.row({ ...evidence, at: stamp() }));
    const { digest, kind, passed, summary } = evidence;
    emit({ type: 'evidence.added', subject: `digest/${digest}`, data: { kind, passed, summary } });
    const why = `A test of ${digest} ${passed ? 'passed' : 'failed'}.`;
    const { by, operation } = evidence;
    for (const image of images) {
      await moveLatest(context, change, image, { by, why, operation });
    }
    return added;
  });
}

/** The images whose `latest` the digest decides on; a candidate of theirs may become available in this moment. */
async function imagesOf(tables: Kysely<Tables>, digest: string): Promise<readonly string[]> {
  const rows = await tables
    .selectFrom('versions')
    .select('image')
    .distinct()
    .where('digest', '=', digest)
    .where('state', 'in', ['candidate', 'available'])
    .orderBy('image')
    .execute();
  return rows.map(({ image }) => image);
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
