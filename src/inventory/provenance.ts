// How a version was made, as an in-toto statement of SLSA's provenance 1: what was asked for, every input with
// its hash, who built it with which tools, and when. Private inputs are there by their hash alone.
import { createHash } from 'node:crypto';
import type { RecipeCommit } from '../domain/image/recipe-commit.ts';
import { type Lock, type LockedInput, lockText } from '../domain/lock/lock.ts';
import { canonicalJson } from '../domain/value/canonical-json.ts';
import type { Json } from '../domain/value/json.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { Digest } from '../oci/layout/digest.ts';
import type { SigningKey } from '../oci/signatures/key-folder.ts';
import { attestVersion } from '../oci/signatures/sign.ts';
import { isSecret, type PrivateInput, privateInputs, publicName } from './model/redact.ts';

export const provenanceType = 'https://slsa.dev/provenance/v1';

export interface ProvenanceInput {
  readonly image: string;
  readonly version: string;
  readonly lock: Lock;
  /** Imago's own version. */
  readonly tool: string;
  /** The versions of the tools that wrote the disk, and the sha256 of the files that they used. */
  readonly toolVersions: Readonly<Record<string, string>>;
  /** Of the operation that built it. */
  readonly operation: string;
  /** ISO times. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The commit that the recipe was at, if it is known. */
  readonly source?: RecipeCommit | undefined;
  /** How long the steps took that were not reused. */
  readonly timings?: readonly { readonly step: string; readonly ms: number }[] | undefined;
  /** Of the raw disk, 64 hexadecimal digits. */
  readonly diskSha256: string;
}

/** The predicate of the statement. The same input gives the same predicate. */
export function makeProvenance(input: ProvenanceInput): Json {
  const { lock } = input;
  const secrets = privateInputs(lock);
  return {
    buildDefinition: {
      buildType: `urn:imago:build:${lock.recipe.method ?? 'assemble'}:v1`,
      externalParameters: {
        image: input.image,
        version: input.version,
        recipe: {
          sha256: sha256(canonicalJson(lock.recipe)),
          ...(input.source && { gitCommit: input.source.commit, dirty: input.source.dirty }),
        },
        lock: { sha256: sha256(lockText(lock)) },
      },
      internalParameters: {
        buildRules: lock.rules,
        epoch: lock.epoch,
        tools: { ...input.toolVersions },
        ...stepsOf(input),
        restricted: secrets.length > 0,
      },
      resolvedDependencies: lock.inputs.map((item) => dependency(item, secrets)),
    },
    runDetails: {
      builder: { id: 'urn:imago:builder:v1', version: { imago: input.tool } },
      metadata: {
        invocationId: input.operation,
        startedOn: input.startedAt,
        finishedOn: input.finishedAt,
      },
      byproducts: [{ name: 'disk', digest: { sha256: input.diskSha256 } }],
    },
  };
}

/** What was done on the machine of the build. */
function stepsOf({ lock, timings = [] }: ProvenanceInput): { readonly steps?: Json } {
  const { steps } = lock.recipe;
  if (lock.recipe.method !== 'machine' || steps === undefined) return {};
  return {
    steps: steps.map(({ name, run, file, restart }) => {
      const script = lock.inputs.find((input) => input.kind === 'config' && input.name === file);
      const ms = timings.find(({ step }) => step === name)?.ms;
      return {
        name,
        digest: { sha256: run === undefined ? (script?.sha256 ?? '') : sha256(run) },
        restart: restart === true,
        ...(ms === undefined ? { reused: true } : { ms }),
      };
    }),
  };
}

function dependency(item: LockedInput, secrets: readonly PrivateInput[]): Json {
  const isPrivate = isSecret(item, secrets);
  return {
    name: publicName(item, secrets),
    ...(!isPrivate && { uri: item.source }),
    digest: { sha256: item.sha256 },
    annotations: {
      kind: item.kind,
      sizeBytes: item.sizeBytes,
      ...(isPrivate ? { private: true } : { version: item.version }),
    },
  };
}

/** Signs the provenance and attaches it to the version. The same again adds nothing. */
export async function attestProvenance(
  store: DiskStore,
  digest: Digest,
  key: SigningKey,
  input: ProvenanceInput,
): Promise<void> {
  await attestVersion(store, digest, key, {
    name: `${input.image}:${input.version}`,
    predicateType: provenanceType,
    predicate: makeProvenance(input),
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
