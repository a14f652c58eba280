// Import: a disk that others made becomes a candidate, with notes and SBOM where its system can be read.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { isRestricted } from '../../domain/recipe/recipe.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { StoredImage } from '../../ports/image-store/image-store.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { type OperationDeps, requireImages } from '../common/deps.ts';
import {
  addCandidate,
  type CandidateFacts,
  dropCandidate,
  requireLine,
  type Sealed,
  sealedResult,
  takeNumber,
} from './candidate.ts';
import { type DescribedResult, recordsStep, type Subject, signStep } from './describe.ts';

const importInput = z.object({
  upload: z.string(),
  image: z.string(),
  /** What the file was called. */
  file: z.string(),
  version: z.string().optional(),
  os: z.enum(['linux', 'windows']).default('linux'),
  architecture: z.enum(architectures).default('x64'),
  numbering: z.enum(numberingPolicies).default('semver'),
  kubernetes: z.string().optional(),
  /** What a disk of Windows was built from. */
  lock: z.unknown().optional(),
});
export type ImageImportInput = z.infer<typeof importInput>;

interface Numbered {
  readonly version: string;
  readonly at: string;
  readonly reused: boolean;
}

export function imageImportOperation(deps: OperationDeps): OperationKind<ImageImportInput> {
  return {
    kind: 'image-import',
    parse: (input) => parseInput(importInput, input),
    async plan(input) {
      const found = await requireImages(deps).files.findUpload(input.upload);
      if (found === undefined)
        throw new ImagoError('upload-not-found', `There is no upload ${input.upload}.`);
      await requireLine(deps, input.image, undefined);
      return planImport(input, found.format);
    },
    steps: () => [
      storeStep(deps),
      numberStep(deps),
      recordsStep(deps, subject, { lenient: true }),
      signStep(deps, madeElsewhere),
      sealStep(deps),
      cleanStep(deps),
    ],
    result: (context) => {
      const { unread } = context.result<{ readonly restricted: boolean }>(
        'records',
      ) as unknown as DescribedResult;
      return { ...requireResult<Sealed>(context, 'seal'), ...(unread === undefined ? {} : { unread }) };
    },
  };
}

/** What an import does, one sentence each; the format is known once the disk was uploaded. */
export function planImport(
  { image, file, lock: given }: Pick<ImageImportInput, 'image' | 'file' | 'lock'>,
  format?: string,
): readonly string[] {
  const lock = given as Lock | undefined;
  const disk = format === undefined ? 'disk' : `${format} disk`;
  return [
    `Store the ${disk} of ${file} as a candidate of ${image}.`,
    ...(lock === undefined ? [] : [`Describe it by the lock of ${lock.recipe.name}: ${inputsText(lock)}.`]),
  ];
}

function inputsText({ recipe, inputs }: Lock): string {
  const count = inputs.length === 1 ? '1 input' : `${inputs.length} inputs`;
  return isRestricted(recipe) ? `${count}, private ones among them, so that it is restricted` : count;
}

function storeStep(deps: OperationDeps): WorkStep<ImageImportInput> {
  return {
    name: 'store',
    async do(context) {
      const { upload, image } = context.input;
      return { ...(await requireImages(deps).files.importDisk(upload, image, context)) };
    },
    /** The disk in the store is only costly, and goes with the next garbage collection. The upload is of no more use. */
    async undo(context) {
      await requireImages(deps).files.dropUpload(context.input.upload);
      return 'kept';
    },
  };
}

function numberStep(deps: OperationDeps): WorkStep<ImageImportInput> {
  return {
    name: 'number',
    async do(context) {
      const { digest } = requireResult<StoredImage>(context, 'store');
      const known = await deps.catalogue.findVersionByDigest(context.input.image, digest);
      if (known !== undefined) {
        refuseLateSecrets(context, known);
        return { version: known.version, at: known.createdAt, reused: true };
      }
      const version = await takeNumber(deps, context, factsOf(context));
      return { version, at: new Date(context.clock.now()).toISOString(), reused: false };
    },
  };
}

function sealStep(deps: OperationDeps): WorkStep<ImageImportInput> {
  const find = (context: StepContext<ImageImportInput>) =>
    deps.catalogue.findVersionByDigest(
      context.input.image,
      requireResult<StoredImage>(context, 'store').digest,
    );
  return {
    name: 'seal',
    async do(context) {
      const added = await addCandidate(deps, context, {
        facts: factsOf(context),
        version: requireResult<Numbered>(context, 'number').version,
        disk: requireResult<StoredImage>(context, 'store'),
        origin: { kind: 'imported', from: context.input.file },
        restricted: hasSecrets(context) || requireResult<DescribedResult>(context, 'records').restricted,
      });
      return sealedResult(added, context.operation.id);
    },
    async verify(context) {
      const found = await find(context);
      return found && sealedResult(found, context.operation.id);
    },
    async undo(context) {
      await dropCandidate(deps, context, await find(context));
      return undefined;
    },
  };
}

function cleanStep(deps: OperationDeps): WorkStep<ImageImportInput> {
  return {
    name: 'clean',
    async do(context) {
      await requireImages(deps).files.dropUpload(context.input.upload);
      return undefined;
    },
  };
}

function factsOf({ input }: StepContext<ImageImportInput>): CandidateFacts {
  const { image: name, os, architecture, numbering, kubernetes, version } = input;
  return { name, os, architecture, numbering, kubernetes, version };
}

/** A disk that was known without its lock gets its notes by it. */
function subject(context: StepContext<ImageImportInput>): Subject {
  const { image, kubernetes } = context.input;
  const { version, at: createdAt, reused } = requireResult<Numbered>(context, 'number');
  const { digest } = requireResult<StoredImage>(context, 'store');
  const lock = context.input.lock as Lock | undefined;
  return { image, version, digest, kubernetes, createdAt, lock, reused: reused && lock === undefined };
}

/** Nobody here saw it being made: the lock is no ground for a statement of how that went. */
function madeElsewhere(context: StepContext<ImageImportInput>): Subject {
  return { ...subject(context), lock: undefined };
}

function hasSecrets({ input }: StepContext<ImageImportInput>): boolean {
  const lock = input.lock as Lock | undefined;
  return lock !== undefined && isRestricted(lock.recipe);
}

/** What a version may be used for is fixed with it: it cannot turn out to be restricted afterwards. */
function refuseLateSecrets(
  context: StepContext<ImageImportInput>,
  { image, version, restricted }: VersionRecord,
): void {
  if (restricted === true || !hasSecrets(context)) return;
  throw new ImagoError(
    'version-restricted',
    `${image}:${version} is this disk, taken in before without its lock, which has private inputs.`,
    { hint: 'Withdraw that one, and import the disk under another name.' },
  );
}
