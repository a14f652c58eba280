// Pull: a version of a registry becomes a candidate here. What was tested elsewhere is tested again before any
// channel but those for testing takes it.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { checkName } from '../../domain/value/name.ts';
import type { PulledFacts } from '../../ports/image-store/image-store.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
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
import { requireValidSignature } from './verify.ts';

const pullInput = z.object({
  from: z.string(),
  image: z.string().optional(),
  version: z.string().optional(),
  architecture: z.enum(architectures).default('x64'),
  numbering: z.enum(numberingPolicies).default('semver'),
  allowUnsigned: z.boolean().default(false),
});
export type ImagePullInput = z.infer<typeof pullInput>;

const unsignedHint =
  "Trust the signer's public key with `imago keys trust`, or pass --allow-unsigned to accept it as it is.";

interface Pulled extends SealedDisk, Omit<PulledFacts, 'image'> {
  readonly image: string;
  readonly bytes: number;
  /** Of the keys that are trusted here. */
  readonly signedBy: readonly string[];
}

export function imagePullOperation(deps: OperationDeps): OperationKind<ImagePullInput> {
  return {
    kind: 'image-pull',
    parse: (input) => parseInput(pullInput, input),
    async plan({ from, image }) {
      if (image !== undefined) await requireLine(deps, image, undefined);
      const plan = await requireImages(deps).copies.planPull(from, AbortSignal.timeout(60_000));
      return [
        `Receive ${formatBytes(plan.bytes)} of ${formatBytes(plan.bytesTotal)} of ${from} (${plan.digest}); the rest is here already.`,
        'Add it as a candidate.',
      ];
    },
    steps: () => [pullStep(deps), numberStep(deps), sealStep(deps)],
    result: (context) => {
      const { bytes, signedBy } = requireResult<Pulled>(context, 'pull');
      return { ...requireResult<Sealed>(context, 'seal'), bytes, signedBy: [...signedBy] };
    },
  };
}

function pullStep(deps: OperationDeps): WorkStep<ImagePullInput> {
  return {
    name: 'pull',
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const { input } = context;
      const images = requireImages(deps);
      let image = '';
      let signedBy: readonly string[] = [];
      const got = await images.copies.pull(input.from, context, async (facts, signatures) => {
        image = await requireImage(deps, input, facts);
        signedBy = [...new Set(signatures.flatMap(({ key, counts }) => (counts && key ? [key] : [])))];
        if (!input.allowUnsigned) requireValidSignature(input.from, image, signatures, unsignedHint);
        else if (signedBy.length === 0) context.log('No signature of a key that is trusted here.');
      });
      const stored = await images.find(got.digest);
      if (stored === undefined) throw new ImagoError('store-not-found', `${got.digest} is not in the store.`);
      const { digest, diskDigest, sizeBytes } = stored;
      const version = input.version ?? got.version;
      return {
        ...{ image, digest, diskDigest, sizeBytes, bytes: got.bytes, signedBy },
        ...(version === undefined ? {} : { version }),
        ...(got.os === undefined ? {} : { os: got.os }),
        ...(got.kubernetes === undefined ? {} : { kubernetes: got.kubernetes }),
      };
    },
  };
}

async function requireImage(deps: OperationDeps, input: ImagePullInput, facts: PulledFacts): Promise<string> {
  const image = input.image ?? facts.image;
  if (image === undefined) {
    throw new ImagoError('input-invalid', `${input.from} does not say which image it is of.`, {
      hint: 'Name the image with --name.',
    });
  }
  checkName('image', image);
  await requireLine(deps, image, undefined);
  return image;
}

function factsOf(context: StepContext<ImagePullInput>): CandidateFacts {
  const { architecture, numbering } = context.input;
  const { image: name, version, os = 'linux', kubernetes } = requireResult<Pulled>(context, 'pull');
  return { name, os, architecture, numbering, kubernetes, version };
}

function numberStep(deps: OperationDeps): WorkStep<ImagePullInput> {
  return {
    name: 'number',
    async do(context) {
      const { image, digest } = requireResult<Pulled>(context, 'pull');
      const known = await deps.catalogue.findVersionByDigest(image, digest);
      return { version: known?.version ?? (await takeNumber(deps, context, factsOf(context))) };
    },
  };
}

function sealStep(deps: OperationDeps): WorkStep<ImagePullInput> {
  const find = (context: StepContext<ImagePullInput>) => {
    const { image, digest } = requireResult<Pulled>(context, 'pull');
    return deps.catalogue.findVersionByDigest(image, digest);
  };
  return {
    name: 'seal',
    async do(context) {
      const disk = requireResult<Pulled>(context, 'pull');
      const described = await requireImages(deps).records.described(disk.digest);
      const added = await addCandidate(deps, context, {
        facts: factsOf(context),
        version: requireResult<{ readonly version: string }>(context, 'number').version,
        disk,
        origin: { kind: 'imported', from: `oci:${context.input.from}` },
        restricted: described?.restricted === true,
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
