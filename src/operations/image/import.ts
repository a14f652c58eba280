// Imports a disk that was built elsewhere as a candidate, with notes and SBOM if its system can be read.
import type * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import * as declared from '../../domain/image/operations.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { isRestricted } from '../../domain/recipe/recipe.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { StoredImage } from '../../ports/image-store/image-store.ts';
import { requireImages } from '../common/deps.ts';
import { operation, type Run } from '../common/operation.ts';
import { type CandidateFacts, requireLine, sealStep, takeNumber } from './candidate.ts';
import { type DescribedResult, recordsStep, type Subject, signStep } from './describe.ts';

type ImportInput = z.output<typeof declared.imageImport.input>;

interface Numbered {
  readonly version: string;
  /** ISO time. */
  readonly at: string;
  readonly reused: boolean;
}

interface Results {
  readonly store: StoredImage;
  readonly number: Numbered;
}

export const imageImport = operation(declared.imageImport, {
  async plan(run) {
    const { upload, image } = run.input;
    const found = await requireImages(run).files.findUpload(upload);
    if (found === undefined) throw new ImagoError('upload-not-found', `There is no upload ${upload}.`);
    await requireLine(run, image, undefined);
    return planImport(run.input, found.format);
  },
})
  .step('store', {
    do: (run) => requireImages(run).files.importDisk(run.input.upload, run.input.image, run),
    /** The disk in the store is only costly, and is removed by the next garbage collection. */
    async undo(run) {
      await requireImages(run).files.dropUpload(run.input.upload);
      return 'kept';
    },
  })
  .step('number', async (run): Promise<Numbered> => {
    const known = await findImported(run);
    if (known === undefined) {
      const version = await takeNumber(run, factsOf(run.input));
      return { version, at: new Date(run.clock.now()).toISOString(), reused: false };
    }
    refuseLateSecrets(run.input, known);
    return { version: known.version, at: known.createdAt, reused: true };
  })
  .use(recordsStep(subject, { lenient: true }))
  .use(signStep(builtElsewhere))
  .use(
    sealStep(findImported, (run: Run<ImportInput, Results & { readonly records: DescribedResult }>) => ({
      facts: factsOf(run.input),
      version: run.result('number').version,
      disk: run.result('store'),
      origin: { kind: 'imported', from: run.input.file },
      restricted: hasSecrets(run.input) || run.result('records').restricted,
    })),
  )
  .step('clean', (run) => requireImages(run).files.dropUpload(run.input.upload))
  .result((run) => {
    const { unread } = run.result('records');
    return { ...run.result('seal'), ...(unread !== undefined && { unread }) };
  });

function findImported(
  run: Pick<Run<{ readonly image: string }, Results>, 'catalogue' | 'input' | 'result'>,
): Promise<VersionRecord | undefined> {
  return run.catalogue.findVersionByDigest(run.input.image, run.result('store').digest);
}

/** What an import does, one sentence each; the format is known once the disk was uploaded. */
export function planImport(
  { image, file, lock: given }: { readonly image: string; readonly file: string; readonly lock?: unknown },
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

function factsOf({
  image: name,
  os,
  architecture,
  numbering,
  kubernetes,
  version,
}: ImportInput): CandidateFacts {
  return { name, os, architecture, numbering, kubernetes, version };
}

/** A disk that was imported before without its lock gets its notes from the lock now. */
function subject(run: Run<ImportInput, Results>): Subject {
  const { image, kubernetes } = run.input;
  const { version, at: createdAt, reused } = run.result('number');
  const { digest } = run.result('store');
  const lock = run.input.lock as Lock | undefined;
  return { image, version, digest, kubernetes, createdAt, lock, reused: reused && lock === undefined };
}

/** The build was not observed here: the lock does not prove how it went. */
function builtElsewhere(run: Run<ImportInput, Results>): Subject {
  return { ...subject(run), lock: undefined };
}

function hasSecrets(input: ImportInput): boolean {
  const lock = input.lock as Lock | undefined;
  return lock !== undefined && isRestricted(lock.recipe);
}

/** Whether a version is restricted is fixed with it, and cannot change afterwards. */
function refuseLateSecrets(input: ImportInput, { image, version, restricted }: VersionRecord): void {
  if (restricted === true || !hasSecrets(input)) return;
  throw new ImagoError(
    'version-restricted',
    `${image}:${version} is this disk, imported before without its lock, which has private inputs.`,
    { hint: 'Withdraw that version, and import the disk under another name.' },
  );
}
