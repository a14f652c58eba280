// Attaches to a stored version what was made from its disk: inventory, both kinds of SBOM, release notes and signed
// provenance. A second call with the same facts adds nothing.
import type { Json } from '../domain/value/json.ts';
import { toIso } from '../domain/value/time.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { Digest } from '../oci/layout/digest.ts';
import { encodeJson, parseManifest } from '../oci/layout/manifest.ts';
import { type AttachedPart, attach } from '../oci/layout/referrers.ts';
import type { SigningKey } from '../oci/signatures/key-folder.ts';
import type { AttachmentReader } from '../oci/signatures/sign.ts';
import type { Inventory } from './model/inventory.ts';
import { redactInventory } from './model/redact.ts';
import {
  makeReleaseNotes,
  type NotedMeasures,
  ownSecrets,
  type ReleaseNotes,
  type ReleaseNotesInput,
  withMeasures,
} from './notes/release-notes.ts';
import { renderReleaseNotes } from './notes/render.ts';
import { attestProvenance, type ProvenanceInput } from './provenance.ts';
import { sbomComponents } from './sbom/components.ts';
import { cycloneDxMediaType, cycloneDxSbom } from './sbom/cyclonedx.ts';
import { spdxMediaType, spdxSbom } from './sbom/spdx.ts';

export const recordTypes = {
  inventory: 'application/vnd.imago.inventory.v1+json',
  notes: 'application/vnd.imago.release-notes.v1+json',
  cycloneDx: cycloneDxMediaType,
  spdx: spdxMediaType,
} as const;
export type RecordKind = keyof typeof recordTypes;

export interface VersionRecords {
  readonly notes: ReleaseNotesInput;
  /** Imago's own version. */
  readonly tool: string;
  /** Signed and attached when both are given. */
  readonly provenance?: ProvenanceInput;
  readonly key?: SigningKey;
}

const maxRecord = 512 * 1024 * 1024;

/** Returns the notes. Throws `store-not-found` if the store does not have the version. */
export async function attachRecords(
  store: DiskStore,
  digest: Digest,
  records: VersionRecords,
): Promise<ReleaseNotes> {
  const { notes: input, tool, provenance, key } = records;
  const secrets = ownSecrets(input);
  const inventory = redactInventory(input.inventory, secrets);
  const components = sbomComponents(input.lock, inventory, secrets);
  const notes = makeReleaseNotes(input);
  const created = input.lock === undefined ? input.createdAt : toIso(new Date(input.lock.epoch * 1000));
  const subject = { ...input, created, tool };
  const named = `${input.image}-${input.version}`;
  await put(store, digest, 'inventory', [json(`${named}.inventory.json`, recordTypes.inventory, inventory)]);
  await put(store, digest, 'cycloneDx', [
    json(`${named}.cdx.json`, recordTypes.cycloneDx, cycloneDxSbom(inventory, subject, components)),
  ]);
  await put(store, digest, 'spdx', [
    json(`${named}.spdx.json`, recordTypes.spdx, spdxSbom(inventory, subject, components)),
  ]);
  await putNotes(store, digest, notes);
  if (provenance !== undefined && key !== undefined) await attestProvenance(store, digest, key, provenance);
  return notes;
}

/**
 * Attaches the notes again with what the tests measured; from then on they are the newest. Adds nothing when the version
 * has no notes, no budget asks for it, or they contain it already.
 */
export async function attachMeasures(
  store: DiskStore,
  digest: Digest,
  measures: NotedMeasures,
): Promise<void> {
  const text = await readRecord(store, digest, 'notes');
  if (text === undefined) return;
  const notes = JSON.parse(text) as ReleaseNotes;
  const measured = withMeasures(notes, measures);
  if (JSON.stringify(measured.budgets) === JSON.stringify(notes.budgets)) return;
  await putNotes(store, digest, measured);
}

async function putNotes(store: DiskStore, digest: Digest, notes: ReleaseNotes): Promise<void> {
  const named = `${notes.image}-${notes.version}`;
  await put(store, digest, 'notes', [
    json(`${named}.notes.json`, recordTypes.notes, notes),
    { title: `${named}.notes.md`, mediaType: 'text/markdown', bytes: Buffer.from(renderReleaseNotes(notes)) },
  ]);
}

function json(title: string, mediaType: string, value: Json | Inventory | ReleaseNotes): AttachedPart {
  return { title, mediaType, bytes: encodeJson(value) };
}

async function put(
  store: DiskStore,
  digest: Digest,
  kind: RecordKind,
  parts: readonly AttachedPart[],
): Promise<void> {
  await attach(store, digest, { artifactType: recordTypes[kind], parts });
}

/**
 * A record of a version as text: the newest of its kind; of notes, the JSON or the Markdown. `undefined` when the
 * version has none.
 */
export async function readRecord(
  store: AttachmentReader,
  digest: Digest,
  kind: RecordKind,
  mediaType: string = recordTypes[kind],
): Promise<string | undefined> {
  const newest = (await store.referrers(digest, recordTypes[kind])).at(-1);
  if (newest === undefined) return undefined;
  const { layers } = parseManifest(await store.readBlob(newest.digest), newest.digest);
  const part = layers.find((layer) => layer.mediaType === mediaType);
  return part === undefined ? undefined : (await store.readBlob(part.digest, maxRecord)).toString('utf8');
}
