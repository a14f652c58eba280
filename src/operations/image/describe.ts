// The steps for every version that the local store has: records of what is on its disk, and a signature. They are made
// from the sealed disk before the version is in the catalog, so that none is ever listed without them.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { RecipeCommit } from '../../domain/image/recipe-commit.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { isRestricted } from '../../domain/recipe/recipe.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { DescribeRequest } from '../../ports/image-store/image-store.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import { requireImages } from '../common/deps.ts';
import type { NamedStep, Run } from '../common/operation.ts';
import { hotfixesAbsorbedBy } from '../node-config/absorbed-hotfixes.ts';
import { comparedWith } from './candidate.ts';

/** What the steps must know of the version. */
export interface Subject {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly kubernetes?: string | undefined;
  /** ISO time, recorded before. */
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  /** Of the steps of its build, where they were measured. */
  readonly timings?: SealedDisk['timings'] | undefined;
  /** The version to compare with. Defaults to the previous one. */
  readonly previous?: string | undefined;
  /** The version that it was captured from, to compare with. */
  readonly parent?: Pick<VersionRecord, 'image' | 'version'> | undefined;
  readonly lock?: Lock | undefined;
  readonly lockDigest?: string | undefined;
  /** The commit that its recipe was at, if it is known. */
  readonly source?: RecipeCommit | undefined;
  /** It existed before this operation: nothing is made for it. */
  readonly reused: boolean;
}

/** `undefined` for versions that the local store does not have. */
type SubjectOf<Input, Results> = (run: Run<Input, Results>) => Subject | undefined;

export interface DescribedResult {
  readonly restricted: boolean;
  /** Why there are no notes, if there are none. */
  readonly unread?: string;
}

const unreadable: ReadonlySet<string> = new Set([
  'inventory-invalid',
  'gpt-invalid',
  'ext4-invalid',
  'ext4-unclean',
  'boot-files-invalid',
  'ntfs-invalid',
  'ntfs-unclean',
  'ntfs-encrypted',
  'hive-invalid',
  'hive-unclean',
]);

/** With `lenient`, a disk that cannot be read has no notes, which is reported; otherwise the step fails. */
export function recordsStep<Input, Results>(
  subjectOf: SubjectOf<Input, Results>,
  { lenient = false }: { readonly lenient?: boolean } = {},
): NamedStep<'records', Input, Results, DescribedResult> {
  return {
    name: 'records',
    async do(run): Promise<DescribedResult> {
      const subject = subjectOf(run);
      if (subject === undefined || subject.reused) return { restricted: false };
      const { locks } = requireImages(run);
      const { lock, lockDigest } = subject;
      if (lock !== undefined && lockDigest !== undefined) await locks.keep(lockDigest, lock);
      try {
        return await describe(run, subject);
      } catch (thrown) {
        const error = ensureImagoError(thrown);
        if (!lenient || !unreadable.has(error.code)) throw thrown;
        run.log(`No notes and no SBOM: ${error.message}.`);
        return { restricted: false, unread: error.message };
      }
    },
  };
}

async function describe(run: Run, subject: Subject): Promise<DescribedResult> {
  const { records, locks } = requireImages(run);
  const { image, version, digest, createdAt, lock, kubernetes } = subject;
  const known = await records.described(digest, version);
  if (known !== undefined) return known;
  const before =
    subject.parent === undefined
      ? await comparedWith(run, image, kubernetes, subject.previous, mayBeNamed(subject))
      : await run.catalogue.getVersion(subject.parent.image, subject.parent.version);
  const lockBefore = before?.origin.kind === 'built' ? await locks.read(before.origin.lockDigest) : undefined;
  const hotfixes = lock === undefined ? [] : await hotfixesAbsorbedBy(run, image, lock, lockBefore);
  return records.describe(
    {
      ...{ image, version, digest, createdAt },
      ...(lock === undefined ? {} : { lock }),
      ...(hotfixes.length === 0 ? {} : { hotfixes }),
      ...timed(subject),
      ...(before !== undefined &&
        before.digest !== digest && {
          previous: {
            version: before.version,
            digest: before.digest,
            lockDigest: before.origin.kind === 'built' ? before.origin.lockDigest : undefined,
          },
        }),
    },
    run,
  );
}

/** Public notes do not mention a restricted version. */
function mayBeNamed({ lock }: Subject): (version: VersionRecord) => boolean {
  if (lock !== undefined && isRestricted(lock.recipe)) return () => true;
  return ({ restricted }) => restricted !== true;
}

/** The steps, then the entire build: steps run concurrently, and do not add up to it. */
export function timed({ createdAt, startedAt, timings = [] }: Subject): Pick<DescribeRequest, 'timings'> {
  if (startedAt === undefined) return timings.length === 0 ? {} : { timings };
  const whole = { step: 'whole build', ms: Date.parse(createdAt) - Date.parse(startedAt) };
  return { timings: [...timings, whole] };
}

/** Signs with the current key, or with `makeKey` makes the first one. Running it again adds nothing. */
export function signStep<Input, Results>(
  subjectOf: SubjectOf<Input, Results>,
  { makeKey = false }: { readonly makeKey?: boolean } = {},
): NamedStep<'sign', Input, Results, { readonly key: string | null }> {
  return {
    name: 'sign',
    async do(run) {
      const subject = subjectOf(run);
      if (subject === undefined || subject.reused) return { key: null };
      const { image, version, digest, lock, startedAt, createdAt, source } = subject;
      const signed = await requireImages(run).signatures.sign({
        ...{ image, version, digest },
        at: new Date(run.clock.now()).toISOString(),
        makeKey,
        ...(lock === undefined
          ? {}
          : {
              provenance: {
                lock,
                operation: run.operation.id,
                startedAt: startedAt ?? createdAt,
                finishedAt: createdAt,
                source,
                timings: subject.timings,
              },
            }),
      });
      if (signed === undefined) run.log('Not signed: there is no key. Create one with `imago keys create`.');
      return { key: signed?.key ?? null };
    },
  };
}
