// Verify: reads every byte of a version again, names what is damaged, and mends it where a good copy can be had.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { identityProblem } from '../../domain/gate/signed.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { ImageSignature } from '../../ports/image-store/image-store.ts';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import type { OperationDeps } from '../common/deps.ts';
import { requireStored } from './push.ts';

const verifyInput = z.object({
  reference: z.string(),
  heal: z.boolean().default(true),
  /** A registry's repository that has a copy. */
  registry: z.string().optional(),
  requireSignature: z.boolean().default(false),
});
export type ImageVerifyInput = z.infer<typeof verifyInput>;

export function imageVerifyOperation(deps: OperationDeps): OperationKind<ImageVerifyInput> {
  return {
    kind: 'image-verify',
    parse: (input) => parseInput(verifyInput, input),
    async plan({ reference, heal }) {
      const version = await deps.catalogue.resolve(reference);
      await requireStored(deps, version);
      return [
        `Read ${version.image}:${version.version}, everything attached to it, and its kept lock and inputs again.`,
        ...(heal
          ? [
              'Mend what is damaged: from a registry, the build cache or a source, or by building it once more.',
            ]
          : []),
      ];
    },
    steps: () => [verifyStep(deps)],
  };
}

function verifyStep(deps: OperationDeps): WorkStep<ImageVerifyInput> {
  return {
    name: 'verify',
    tries: 1,
    timeoutMs: 24 * 3_600_000,
    async do(context) {
      const { reference, heal, requireSignature } = context.input;
      const { image, version, digest } = await deps.catalogue.resolve(reference);
      const images = await requireStored(deps, { image, version, digest });
      const record = await deps.catalogue.getVersion(image, version);
      const registry = context.input.registry ?? copyOf(record);
      const lockDigest = record?.origin.kind === 'built' ? record.origin.lockDigest : undefined;
      const { bytesRead, found, healed, left } = await images.check(
        { digest, heal, registry, lockDigest },
        context,
      );
      for (const line of [...found.map((damage) => `Found: ${damage}`), ...healed]) context.log(line);
      const [first] = left;
      if (first !== undefined) {
        const more = left.length === 1 ? '' : ` (and ${left.length - 1} more)`;
        throw new ImagoError('store-corrupt', `${image}:${version} is damaged: ${first}${more}`, {
          hint: 'Name a registry that has a copy with --registry, or build it again.',
          details: { found, healed, left },
        });
      }
      const all = (await images.signatures.list(digest)).map((signature) => ({ ...signature }));
      if (requireSignature) requireValidSignature(`${image}:${version}`, image, all);
      const signatures = all.filter(({ counts }) => counts);
      const ignored = all.filter(({ counts }) => !counts);
      return {
        image,
        version,
        digest,
        bytesRead,
        found: [...found],
        healed: [...healed],
        signatures,
        ignored,
      };
    },
  };
}

/** Throws `signature-missing` with the problem of each signature if none is valid for the image. */
export function requireValidSignature(
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

/** Where a version that was pulled came from. */
function copyOf(record: VersionRecord | undefined): string | undefined {
  const from = record?.origin.kind === 'imported' ? record.origin.from : '';
  return from.startsWith('oci:') ? from.slice('oci:'.length) : undefined;
}
