// Steps that come with every version that the local store has: what is on its disk, and who says so. They are made
// from the sealed disk before the version is in the catalogue, so that none is ever listed without them.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { RecipeCommit } from '../../domain/image/recipe-commit.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { isRestricted } from '../../domain/recipe/recipe.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { DescribeRequest } from '../../ports/image-store/image-store.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { type OperationDeps, requireImages } from '../common/deps.ts';
import { hotfixesAbsorbedBy } from '../node-config/absorbed-hotfixes.ts';
import { comparedWith } from './candidate.ts';

/** What the steps must know of the version at hand. */
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
  /** The version to compare with, where that is not simply the one before. */
  readonly previous?: string | undefined;
  readonly lock?: Lock | undefined;
  readonly lockDigest?: string | undefined;
  /** The commit that its recipe was at, if it is known. */
  readonly source?: RecipeCommit | undefined;
  /** Was there before this operation: nothing is made for it. */
  readonly reused: boolean;
}

/** `undefined` for versions that the local store does not have. */
export type SubjectOf<Input> = (context: StepContext<Input>) => Subject | undefined;

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
]);

/** With `lenient`, a disk that nobody can look into has no notes, which is told; else it is the step's failure. */
export function recordsStep<Input>(
  deps: OperationDeps,
  subjectOf: SubjectOf<Input>,
  { lenient = false }: { readonly lenient?: boolean } = {},
): WorkStep<Input> {
  return {
    name: 'records',
    async do(context) {
      const subject = subjectOf(context);
      if (subject === undefined || subject.reused) return { restricted: false } satisfies DescribedResult;
      const { locks } = requireImages(deps);
      const { lock, lockDigest } = subject;
      if (lock !== undefined && lockDigest !== undefined) await locks.keep(lockDigest, lock);
      try {
        return { ...(await describe(deps, context, subject)) } satisfies DescribedResult;
      } catch (thrown) {
        const error = ensureImagoError(thrown);
        if (!lenient || !unreadable.has(error.code)) throw thrown;
        context.log(`No notes and no SBOM: ${error.message}.`);
        return { restricted: false, unread: error.message } satisfies DescribedResult;
      }
    },
  };
}

async function describe(deps: OperationDeps, context: StepContext<unknown>, subject: Subject) {
  const { records, locks } = requireImages(deps);
  const { image, version, digest, createdAt, lock, kubernetes } = subject;
  const known = await records.described(digest, version);
  if (known !== undefined) return known;
  const before = await comparedWith(deps, image, kubernetes, subject.previous, mayBeNamed(subject));
  const lockBefore = before?.origin.kind === 'built' ? await locks.read(before.origin.lockDigest) : undefined;
  const hotfixes = lock === undefined ? [] : await hotfixesAbsorbedBy(deps, image, lock, lockBefore);
  return records.describe(
    {
      ...{ image, version, digest, createdAt },
      ...(lock === undefined ? {} : { lock }),
      ...(hotfixes.length === 0 ? {} : { hotfixes }),
      ...timed(subject),
      ...(before === undefined || before.digest === digest
        ? {}
        : {
            previous: {
              version: before.version,
              digest: before.digest,
              lockDigest: before.origin.kind === 'built' ? before.origin.lockDigest : undefined,
            },
          }),
    },
    context,
  );
}

/** Notes that everyone may read say nothing of a version that they must not see. */
function mayBeNamed({ lock }: Subject): (version: VersionRecord) => boolean {
  if (lock !== undefined && isRestricted(lock.recipe)) return () => true;
  return ({ restricted }) => restricted !== true;
}

/** The steps, and the whole last: steps run side by side, and do not add up to it. */
export function timed({ createdAt, startedAt, timings = [] }: Subject): Pick<DescribeRequest, 'timings'> {
  if (startedAt === undefined) return timings.length === 0 ? {} : { timings };
  const whole = { step: 'whole build', ms: Date.parse(createdAt) - Date.parse(startedAt) };
  return { timings: [...timings, whole] };
}

/** Signs with the current key, or with `makeKey` makes the first one. Running it again adds nothing. */
export function signStep<Input>(
  deps: OperationDeps,
  subjectOf: SubjectOf<Input>,
  { makeKey = false }: { readonly makeKey?: boolean } = {},
): WorkStep<Input> {
  return {
    name: 'sign',
    async do(context) {
      const subject = subjectOf(context);
      if (subject === undefined || subject.reused) return { key: null };
      const { image, version, digest, lock, startedAt, createdAt, source } = subject;
      const signed = await requireImages(deps).signatures.sign({
        ...{ image, version, digest },
        at: new Date(context.clock.now()).toISOString(),
        makeKey,
        ...(lock === undefined
          ? {}
          : {
              provenance: {
                lock,
                operation: context.operation.id,
                startedAt: startedAt ?? createdAt,
                finishedAt: createdAt,
                source,
              },
            }),
      });
      if (signed === undefined)
        context.log('Not signed: there is no key. Make one with `imago keys create`.');
      return { key: signed?.key ?? null };
    },
  };
}
