// Push: a copy of a version, with all that is attached to it, in an OCI registry.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { type OperationDeps, requireImages } from '../common/deps.ts';
import { resolved, resolveStep, resolveUsable } from './resolve-step.ts';

const pushInput = z.object({ reference: z.string(), to: z.string() });
export type ImagePushInput = z.infer<typeof pushInput>;

export function imagePushOperation(deps: OperationDeps): OperationKind<ImagePushInput> {
  return {
    kind: 'image-push',
    parse: (input) => parseInput(pushInput, input),
    async plan({ reference, to }) {
      const version = await resolveUsable(deps, reference);
      const images = await requireStored(deps, version);
      await refuseRestricted(deps, version);
      const target = withTag(to, version);
      const signal = AbortSignal.timeout(60_000);
      const { bytes, bytesTotal } = await images.copies.planPush(version.digest, target, signal);
      return [
        `Send ${formatBytes(bytes)} of ${formatBytes(bytesTotal)} to ${target}; the rest is there already.`,
      ];
    },
    steps: () => [resolveStep<ImagePushInput>(deps), pushStep(deps)],
  };
}

function pushStep(deps: OperationDeps): WorkStep<ImagePushInput> {
  const target = (context: StepContext<ImagePushInput>) => withTag(context.input.to, resolved(context));
  return {
    name: 'push',
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const version = resolved(context);
      const images = await requireStored(deps, version);
      await refuseRestricted(deps, version);
      const to = target(context);
      const { bytes } = await images.copies.push(version.digest, to, context);
      return { ...pushed(version, to), bytes };
    },
    async verify(context) {
      const version = resolved(context);
      const to = target(context);
      const images = await requireStored(deps, version);
      const there = await images.copies.isPushed(version.digest, to, context.signal);
      return there ? { ...pushed(version, to), bytes: 0 } : undefined;
    },
  };
}

function pushed({ image, version, digest }: Resolution, to: string) {
  return { image, version, digest, to };
}

/** A tag of its own, else the version's number. */
function withTag(to: string, { version }: Resolution): string {
  const name = to.slice(to.indexOf('/') + 1);
  return /[:@]/.test(name) ? to : `${to}:${version}`;
}

/** Rule of D16: a version with private inputs never leaves for a place that others share. */
async function refuseRestricted(deps: OperationDeps, { image, version, digest }: Resolution): Promise<void> {
  const record = await deps.catalogue.getVersion(image, version);
  const described = await requireImages(deps).records.described(digest);
  if (record?.restricted !== true && described?.restricted !== true) return;
  throw new ImagoError('version-restricted', `${image}:${version} holds private inputs.`);
}

/** The store, once it is known to have the version's disk. */
export async function requireStored(
  deps: OperationDeps,
  { image, version, digest }: Pick<Resolution, 'image' | 'version' | 'digest'>,
): Promise<ImageStore> {
  const images = requireImages(deps);
  if ((await images.find(digest)) !== undefined) return images;
  throw new ImagoError('store-not-found', `The disk of ${image}:${version} is not in the local store.`, {
    hint: 'It is simulated, or kept by another provider or machine: pull it from where it is.',
  });
}
