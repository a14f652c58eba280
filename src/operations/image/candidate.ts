// Makes a sealed disk a candidate in the catalog: a number that was never used, and then the record, last of all, so that
// nothing partial is ever listed.
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
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { NamedStep, Run } from '../common/operation.ts';

export interface CandidateFacts {
  readonly name: string;
  readonly os: OperatingSystem;
  readonly architecture: Architecture;
  readonly numbering: NumberingPolicy;
  readonly kubernetes?: string | undefined;
  /** Of Windows: build and revision. */
  readonly system?: string | undefined;
  readonly bump?: NumberBump | undefined;
  /** Made by a simulation. */
  readonly simulated?: true | undefined;
  /** The number to have; the next one by the image's policy when absent. */
  readonly version?: string | undefined;
  /** `false` for prototypes: their line has no channels. */
  readonly channels?: false;
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

/** A repeated call of the same operation gets the same number. Throws `number-taken` if the wanted one was ever used. */
export async function takeNumber(run: Run, facts: CandidateFacts): Promise<string> {
  const { name, os, architecture, numbering, kubernetes, system, bump, version, channels } = facts;
  const image = await run.catalogue.ensureImage({
    ...{ name, os, architecture, numbering, ...(channels === false && { channels }) },
    ...simulatedMark(facts),
  });
  const now = new Date(run.clock.now());
  return run.catalogue.reserveNumber(name, run.operation.id, (used) => {
    if (version !== undefined) return freeNumber(name, version, used);
    return nextNumber(image.numbering, { used, now, kubernetes, system, bump });
  });
}

/** Throws `input-invalid` if the image is numbered in another way: its recipe cannot change that. */
export async function requireNumbering(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  { name, numbering }: Pick<CandidateFacts, 'name' | 'numbering'>,
): Promise<void> {
  const image = await catalogue.getImage(name);
  if (image !== undefined && image.numbering !== numbering) {
    throw new ImagoError(
      'input-invalid',
      `Image ${name} has \`numbering: ${image.numbering}\`, which cannot change; the recipe has ${numbering}.`,
      { hint: `Write \`numbering: ${image.numbering}\` in the recipe, or give the image another name.` },
    );
  }
}

/** The number that a build would get now. Throws what the build would throw. */
export async function previewNumber(
  deps: OperationDeps,
  {
    name,
    numbering,
    kubernetes,
    system,
    bump,
  }: Pick<CandidateFacts, 'name' | 'numbering' | 'kubernetes' | 'system' | 'bump'>,
): Promise<string> {
  const image = await deps.catalogue.getImage(name);
  const used = await deps.catalogue.usedNumbers(name);
  return nextNumber(image?.numbering ?? numbering, {
    used,
    now: new Date(deps.clock.now()),
    kubernetes,
    system,
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

export interface Sealed {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
}

/**
 * The last step before a version is listed: adds it as a candidate. Undo removes only what this operation added, unless it
 * was tested since.
 */
export function sealStep<Input, Results>(
  find: (run: Run<Input, Results>) => Promise<VersionRecord | undefined>,
  requestOf: (run: Run<Input, Results>) => Promise<CandidateRequest> | CandidateRequest,
): NamedStep<'seal', Input, Results, Sealed> {
  return {
    name: 'seal',
    async do(run) {
      const { facts, version, disk, origin, restricted } = await requestOf(run);
      const { digest, diskDigest, sizeBytes } = disk;
      const added = await run.catalogue.addVersion({
        ...{ image: facts.name, version, digest, diskDigest, sizeBytes, origin },
        ...(facts.kubernetes !== undefined && { kubernetes: facts.kubernetes }),
        ...(restricted && { restricted }),
        ...simulatedMark(facts),
        operation: run.operation.id,
      });
      return sealed(added, run.operation.id);
    },
    async verify(run) {
      const found = await find(run);
      return found && sealed(found, run.operation.id);
    },
    async undo(run) {
      const found = await find(run);
      if (found?.operation !== run.operation.id) return undefined;
      if (found.state !== 'candidate') return 'kept';
      await run.catalogue.dropVersion(found.image, found.version);
      return undefined;
    },
  };
}

function sealed(record: VersionRecord, operation: string): Sealed {
  const { image, version, digest } = record;
  return { image, version, digest, reused: record.operation !== operation };
}

/** Returns the version that a new one is compared with: its base, or else the previous version. */
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
