// How a sealed disk becomes a candidate in the catalogue, wherever it came from: a number that was never used, and
// then the record, last of all, so that nothing half made is ever listed.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type NumberBump, type NumberingPolicy, nextNumber } from '../../domain/image/numbering.ts';
import { requireSameKind } from '../../domain/image/simulated.ts';
import {
  type Architecture,
  newestOf,
  type OperatingSystem,
  type Origin,
} from '../../domain/image/version.ts';
import { parseNumber } from '../../domain/image/version-number.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';

export interface CandidateFacts {
  readonly name: string;
  readonly os: OperatingSystem;
  readonly architecture: Architecture;
  readonly numbering: NumberingPolicy;
  readonly kubernetes?: string | undefined;
  readonly bump?: NumberBump | undefined;
  /** Made by a simulation. */
  readonly simulated?: true | undefined;
  /** The number to have; the next one by the image's policy when absent. */
  readonly version?: string | undefined;
}

function simulatedMark({ simulated }: Pick<CandidateFacts, 'simulated'>): { readonly simulated?: true } {
  return simulated ? { simulated } : {};
}

/**
 * Throws `simulation-mixed` before anything starts if the image has versions of the other kind: real ones and simulated
 * ones never share an image.
 */
export async function requireLine(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  image: string,
  simulated: true | undefined,
): Promise<void> {
  const known = await catalogue.getImage(image);
  if (known === undefined || known.simulated === simulated) return;
  if ((await catalogue.listVersions(image, { limit: 1 })).items.length > 0) requireSameKind(known, simulated);
}

/** The same operation asking again gets the same number. `number-taken` when the wanted one was ever used. */
export async function takeNumber(
  deps: OperationDeps,
  context: StepContext<unknown>,
  facts: CandidateFacts,
): Promise<string> {
  const { name, os, architecture, numbering, kubernetes, bump, version } = facts;
  const image = await deps.catalogue.ensureImage({
    ...{ name, os, architecture, numbering },
    ...simulatedMark(facts),
  });
  const now = new Date(context.clock.now());
  return deps.catalogue.reserveNumber(name, context.operation.id, (used) => {
    if (version !== undefined) return freeNumber(name, version, used);
    return nextNumber(image.numbering, { used, now, kubernetes, bump });
  });
}

/** The number that a build would get now. Throws what the build would throw. */
export async function previewNumber(
  deps: OperationDeps,
  { name, numbering, kubernetes, bump }: Pick<CandidateFacts, 'name' | 'numbering' | 'kubernetes' | 'bump'>,
): Promise<string> {
  const image = await deps.catalogue.getImage(name);
  const used = await deps.catalogue.usedNumbers(name);
  return nextNumber(image?.numbering ?? numbering, {
    used,
    now: new Date(deps.clock.now()),
    kubernetes,
    bump,
  });
}

function freeNumber(image: string, wanted: string, used: readonly string[]): string {
  parseNumber(wanted);
  if (!used.includes(wanted)) return wanted;
  throw new ImagoError('number-taken', `${image}:${wanted} was used before, for another disk.`, {
    hint: 'Choose another number with --version.',
  });
}

export interface CandidateRequest {
  readonly facts: CandidateFacts;
  readonly version: string;
  readonly disk: SealedDisk;
  readonly origin: Origin;
  readonly restricted: boolean;
}

export async function addCandidate(
  deps: OperationDeps,
  context: StepContext<unknown>,
  { facts, version, disk, origin, restricted }: CandidateRequest,
): Promise<VersionRecord> {
  const { digest, diskDigest, sizeBytes } = disk;
  return deps.catalogue.addVersion({
    image: facts.name,
    ...{ version, digest, diskDigest, sizeBytes, origin },
    ...(facts.kubernetes === undefined ? {} : { kubernetes: facts.kubernetes }),
    ...(restricted ? { restricted } : {}),
    ...simulatedMark(facts),
    operation: context.operation.id,
  });
}

/** Takes back what this operation added, and nothing that was there before. */
export async function dropCandidate(
  deps: OperationDeps,
  context: StepContext<unknown>,
  found: VersionRecord | undefined,
): Promise<void> {
  if (found?.operation !== context.operation.id) return;
  await deps.catalogue.dropVersion(found.image, found.version);
}

export interface Sealed {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
}

export function sealedResult(version: VersionRecord, operation: string): Json & Sealed {
  const { image, version: number, digest } = version;
  return { image, version: number, digest, reused: version.operation !== operation };
}

/** The version that a new one is compared with: the one that it was made from, else the one before. */
export async function comparedWith(
  deps: OperationDeps,
  image: string,
  kubernetes: string | undefined,
  from: string | undefined,
  suits: (version: VersionRecord) => boolean = () => true,
): Promise<VersionRecord | undefined> {
  if (from === undefined) return versionBefore(deps, image, kubernetes, suits);
  const found = await deps.catalogue.getVersion(image, from);
  return found && suits(found) ? found : undefined;
}

/**
 * The youngest of the same Kubernetes minor version, else the youngest
 * of all. Deleted ones have no disk to compare with.
 */
async function versionBefore(
  deps: OperationDeps,
  image: string,
  kubernetes: string | undefined,
  suits: (version: VersionRecord) => boolean,
): Promise<VersionRecord | undefined> {
  if ((await deps.catalogue.getImage(image)) === undefined) return undefined;
  const there: VersionRecord[] = [];
  for await (const version of allPages((query) => deps.catalogue.listVersions(image, query)))
    if (version.state !== 'deleted' && suits(version)) there.push(version);
  return newestOf(there.filter((one) => minorOf(one.kubernetes) === minorOf(kubernetes))) ?? newestOf(there);
}

function minorOf(kubernetes: string | undefined): string | undefined {
  return kubernetes?.split('.').slice(0, 2).join('.');
}
