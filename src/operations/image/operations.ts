// Sends versions to registries and brings them in, and verifies what the store has.
import { refuseCaptured } from '../../domain/capture/prototype.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { identityProblem } from '../../domain/gate/signed.ts';
import * as declared from '../../domain/image/operations.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { checkName } from '../../domain/value/name.ts';
import type { Resolution, VersionRecord } from '../../ports/database/catalog.ts';
import type { ImageSignature, PulledFacts } from '../../ports/image-store/image-store.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import { type OperationDeps, requireImages } from '../common/deps.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireStored } from '../common/require.ts';
import { type CandidateFacts, requireLine, sealStep, takeNumber } from './candidate.ts';
import { resolveStep, resolveUsable } from './resolve-step.ts';

export { imageImport } from './import.ts';
export { imageOutdated } from './outdated.ts';

const dayMs = 24 * 3_600_000;

export const imagePush = operation(declared.imagePush, {
  async plan(run) {
    const version = await resolveUsable(run, run.input.reference);
    const images = await requireStored(run, version);
    await refuseRestricted(run, version);
    const target = withTag(run.input.to, version);
    const { bytes, bytesTotal } = await images.copies.planPush(version.digest, target, run.signal);
    return [`Send ${formatBytes(bytes)} of ${formatBytes(bytesTotal)} to ${target}; it has the rest.`];
  },
})
  .use(resolveStep)
  .step('push', {
    timeoutMs: dayMs,
    async do(run) {
      const { image, version, digest } = run.result('resolve');
      const images = await requireStored(run, { image, version, digest });
      await refuseRestricted(run, { image, version, digest });
      const to = withTag(run.input.to, { version });
      const { bytes } = await images.copies.push(digest, to, run);
      return { image, version, digest, to, bytes };
    },
    async verify(run) {
      const { image, version, digest } = run.result('resolve');
      const images = await requireStored(run, { image, version, digest });
      const to = withTag(run.input.to, { version });
      const isPushed = await images.copies.isPushed(digest, to, run.signal);
      return isPushed ? { image, version, digest, to, bytes: 0 } : undefined;
    },
  });

/** The given tag, else the version's number. */
function withTag(to: string, { version }: Pick<Resolution, 'version'>): string {
  const name = to.slice(to.indexOf('/') + 1);
  return /[:@]/.test(name) ? to : `${to}:${version}`;
}

type Named = Pick<Resolution, 'image' | 'version' | 'digest'>;

/** A version with private inputs is never sent to a registry that others share (D16). */
async function refuseRestricted(deps: OperationDeps, { image, version, digest }: Named): Promise<void> {
  const record = await deps.catalogue.getVersion(image, version);
  if (record !== undefined) refuseCaptured(record, 'a registry');
  const described = await requireImages(deps).records.described(digest);
  if (record?.restricted !== true && described?.restricted !== true) return;
  throw new ImagoError('version-restricted', `${image}:${version} has private inputs.`);
}

const unsignedHint =
  "Trust the signer's public key with `imago keys trust`, or pass --allow-unsigned to accept it as it is.";

interface Pulled extends SealedDisk, Omit<PulledFacts, 'image'> {
  readonly image: string;
  readonly bytes: number;
  /** The trusted keys that signed it. */
  readonly signedBy: readonly string[];
}

type PullInput = Readonly<Record<'from', string>> & { readonly image?: string | undefined };
type PullRun = Run<
  Pick<CandidateFacts, 'architecture' | 'numbering'>,
  { readonly pull: Pulled; readonly number: { readonly version: string } }
>;

/** What was tested elsewhere is tested again before it reaches any channel that is not for testing. */
export const imagePull = operation(declared.imagePull, {
  async plan(run) {
    const { from, image } = run.input;
    if (image !== undefined) await requireLine(run, image, undefined);
    const { bytes, bytesTotal, digest } = await requireImages(run).copies.planPull(from, run.signal);
    return [
      `Receive ${formatBytes(bytes)} of ${formatBytes(bytesTotal)} of ${from} (${digest}); the rest is in the store.`,
      'Add it as a candidate.',
    ];
  },
})
  .step('pull', {
    timeoutMs: dayMs,
    async do(run): Promise<Pulled> {
      const { input } = run;
      const images = requireImages(run);
      let image = '';
      let signedBy: readonly string[] = [];
      const got = await images.copies.pull(input.from, run, async (facts, signatures) => {
        image = await requirePulledName(run, facts);
        signedBy = [...new Set(signatures.flatMap(({ key, counts }) => (counts && key ? [key] : [])))];
        if (!input.allowUnsigned) requireValidSignature(input.from, image, signatures, unsignedHint);
        else if (signedBy.length === 0) run.log('It has no signature of a trusted key.');
      });
      const stored = await images.find(got.digest);
      if (stored === undefined) throw new ImagoError('store-not-found', `${got.digest} is not in the store.`);
      const { digest, diskDigest, sizeBytes } = stored;
      const { os, kubernetes, bytes } = got;
      const version = input.version ?? got.version;
      return {
        ...{ image, digest, diskDigest, sizeBytes, bytes, signedBy },
        ...(version !== undefined && { version }),
        ...(os !== undefined && { os }),
        ...(kubernetes !== undefined && { kubernetes }),
      };
    },
  })
  .step('number', async (run) => {
    const known = await findPulled(run);
    return { version: known?.version ?? (await takeNumber(run, pulledFacts(run))) };
  })
  .use(
    sealStep(findPulled, async (run: PullRun & Run<{ readonly from: string }, unknown>) => {
      const disk = run.result('pull');
      const described = await requireImages(run).records.described(disk.digest);
      return {
        facts: pulledFacts(run),
        version: run.result('number').version,
        disk,
        origin: { kind: 'imported', from: `oci:${run.input.from}` },
        restricted: described?.restricted === true,
      };
    }),
  )
  .result((run) => {
    const { bytes, signedBy } = run.result('pull');
    return { ...run.result('seal'), bytes, signedBy };
  });

async function requirePulledName(run: Reading<PullInput>, facts: PulledFacts): Promise<string> {
  const image = run.input.image ?? facts.image;
  if (image === undefined) {
    throw new ImagoError('input-invalid', `${run.input.from} does not name its image.`, {
      hint: 'Name the image with --name.',
    });
  }
  checkName('image', image);
  await requireLine(run, image, undefined);
  return image;
}

function findPulled(run: Pick<PullRun, 'result' | 'catalogue'>): Promise<VersionRecord | undefined> {
  const { image, digest } = run.result('pull');
  return run.catalogue.findVersionByDigest(image, digest);
}

function pulledFacts({ input, result }: Pick<PullRun, 'input' | 'result'>): CandidateFacts {
  const { architecture, numbering } = input;
  const { image: name, version, os = 'linux', kubernetes } = result('pull');
  return { name, os, architecture, numbering, kubernetes, version };
}

/** Reads every byte of a version again, reports what is damaged, and repairs it if a good copy can be found. */
export const imageVerify = operation(declared.imageVerify, {
  async plan(run) {
    const version = await run.catalogue.resolve(run.input.reference);
    await requireStored(run, version);
    return [
      `Read ${version.image}:${version.version}, everything attached to it, and its kept lock and inputs again.`,
      ...(run.input.repair
        ? ['Repair what is damaged: from a registry, the build cache or a source, or by a rebuild.']
        : []),
    ];
  },
}).step('verify', {
  tries: 1,
  timeoutMs: dayMs,
  async do(run) {
    const { reference, repair, requireSignature } = run.input;
    const { image, version, digest } = await run.catalogue.resolve(reference);
    const images = await requireStored(run, { image, version, digest });
    const record = await run.catalogue.getVersion(image, version);
    const registry = run.input.registry ?? copyOf(record);
    const lockDigest = record?.origin.kind === 'built' ? record.origin.lockDigest : undefined;
    const checked = await images.check({ digest, heal: repair, registry, lockDigest }, run);
    const { bytesRead, found, healed, left } = checked;
    for (const line of [...found.map((damage) => `Found: ${damage}`), ...healed]) run.log(line);
    const [first] = left;
    if (first !== undefined) {
      const more = left.length === 1 ? '' : ` (and ${left.length - 1} more)`;
      throw new ImagoError('store-corrupt', `${image}:${version} is damaged: ${first}${more}`, {
        hint: 'Name a registry that has a copy with --registry, or build it again.',
        details: { found, healed, left },
      });
    }
    const all = await images.signatures.list(digest);
    if (requireSignature) requireValidSignature(`${image}:${version}`, image, all);
    const signatures = all.filter(({ counts }) => counts);
    const ignored = all.filter(({ counts }) => !counts);
    return { image, version, digest, bytesRead, found, healed, signatures, ignored };
  },
});

/** Throws `signature-missing` with the problem of each signature if none is valid for the image. */
function requireValidSignature(
  what: string,
  image: string,
  signatures: readonly ImageSignature[],
  hint?: string,
): void {
  const judged = signatures.map((one) => ({ key: one.key, problem: identityProblem(one, image) }));
  if (judged.some(({ problem }) => problem === undefined)) return;
  const reasons = judged.map(
    ({ key, problem }) => `${key === undefined ? 'an unknown key' : `key ${key}`}: ${problem}`,
  );
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
  throw new ImagoError('signature-missing', `${what} has no valid signature of a trusted key${why}.`, {
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The registry that a version was pulled from. */
function copyOf(record: VersionRecord | undefined): string | undefined {
  const from = record?.origin.kind === 'imported' ? record.origin.from : '';
  return from.startsWith('oci:') ? from.slice('oci:'.length) : undefined;
}
