// What is made from a sealed disk and attached to its version: inventory, SBOMs, notes; and what they answer.
import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import type { Json } from '../domain/value/json.ts';
import { attachMeasures, attachRecords, readRecord, type recordTypes } from '../inventory/attach-records.ts';
import { diffInventories, type InventoryDiff, isSame } from '../inventory/diff/diff.ts';
import { formatDiff } from '../inventory/diff/format.ts';
import { unintendedChanges } from '../inventory/diff/hotfix-proof.ts';
import { fileHashCache } from '../inventory/file-hash-cache.ts';
import type { FileHashes } from '../inventory/hash-files.ts';
import { loadInventory } from '../inventory/load-inventory.ts';
import type { Inventory } from '../inventory/model/inventory.ts';
import { type PrivateInput, privateInputs, redactInventory } from '../inventory/model/redact.ts';
import type { ReleaseNotesInput } from '../inventory/notes/release-notes.ts';
import { provenanceType } from '../inventory/provenance.ts';
import { openRoot, readInventory } from '../inventory/read-inventory.ts';
import { lockedInventory } from '../inventory/windows/inventory.ts';
import { type DiskStore, describeDisk } from '../oci/disks/disk-store.ts';
import { openDisk } from '../oci/disks/open-disk.ts';
import { type Digest, hexOf, parseDigest } from '../oci/layout/digest.ts';
import { verifyStatements } from '../oci/signatures/sign.ts';
import type {
  Described,
  DescribeRequest,
  ImageRecordKind,
  ImageRecords,
  IntendedChanges,
  KeptLocks,
} from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';

export function imageRecords(
  context: Pick<VersionsContext, 'store' | 'keys' | 'tool' | 'workFolder' | 'now'>,
  locks: Pick<KeptLocks, 'read'>,
): ImageRecords {
  const memory = fileHashCache(join(context.workFolder, 'file-hashes'), context.now);

  async function described(digest: string, version?: string): Promise<Described | undefined> {
    const text = await readRecord(await context.store(), parseDigest(digest), 'notes');
    if (text === undefined) return undefined;
    const notes = JSON.parse(text) as { readonly version: string; readonly restricted: boolean };
    if (version !== undefined && notes.version !== version) return undefined;
    return { restricted: notes.restricted };
  }

  async function previousOf(
    store: DiskStore,
    { previous }: DescribeRequest,
    signal: AbortSignal,
  ): Promise<ReleaseNotesInput['previous']> {
    if (previous === undefined) return undefined;
    const { version, digest, lockDigest } = previous;
    const inventory = await loadInventory(store, parseDigest(digest), { signal }).catch(absentOrUnreadable);
    if (inventory === undefined) return undefined;
    const lock = lockDigest === undefined ? undefined : await locks.read(lockDigest);
    return { version, digest, inventory, ...(lock !== undefined && { lock }) };
  }

  async function compare(
    before: string,
    after: string,
    signal: AbortSignal,
    secrets: readonly PrivateInput[] = [],
  ): Promise<InventoryDiff> {
    const store = await context.store();
    const load = async (digest: string) =>
      redactInventory(await loadInventory(store, parseDigest(digest), { signal }), secrets);
    return diffInventories(await load(before), await load(after));
  }

  async function inventoryOf(
    store: DiskStore,
    digest: Digest,
    { image, lock: given }: DescribeRequest,
    signal: AbortSignal,
  ): Promise<Inventory> {
    const lock = given as Lock | undefined;
    const disk = await openDisk(store, digest);
    try {
      const named = new Map<string, FileHashes>();
      const known = await memory.recall(image);
      const inventory = await readInventory(disk, { signal, known, named, lock });
      await memory.remember(image, named);
      return inventory;
    } catch (error) {
      if (lock?.recipe.os === 'windows' && hasNoSystem(error)) return lockedInventory(lock, disk);
      throw error;
    } finally {
      await disk.close();
    }
  }

  return {
    described,
    async describe(request, { signal, progress }) {
      const store = await context.store();
      const digest = parseDigest(request.digest);
      const { image, version, createdAt, timings, hotfixes } = request;
      progress(0, 3, 'reading what is on the disk');
      const { sha256 } = await describeDisk(store, digest);
      const inventory = await inventoryOf(store, digest, request, signal);
      progress(1, 3, 'comparing with the previous version');
      const previous = await previousOf(store, request, signal);
      progress(2, 3, 'writing notes and SBOMs');
      const notes = await attachRecords(store, digest, {
        tool: context.tool,
        notes: {
          ...{ image, version, digest, createdAt, inventory },
          diskSha256: hexOf(sha256),
          ...(request.lock !== undefined && { lock: request.lock }),
          ...(previous !== undefined && { previous }),
          ...(timings !== undefined && { timings }),
          ...(hotfixes !== undefined && { hotfixes }),
        },
      });
      return { restricted: notes.restricted };
    },
    measured: async (digest, measures) =>
      attachMeasures(await context.store(), parseDigest(digest), measures),
    async read(text, kind) {
      const store = await context.store();
      const digest = parseDigest(text);
      if (kind !== 'provenance') {
        const [record, mediaType] = recordPlace[kind];
        return readRecord(store, digest, record, mediaType);
      }
      const statements = await verifyStatements(store, digest, await context.keys.keyring(), provenanceType);
      const newest = statements.at(-1);
      return newest && `${JSON.stringify(newest.statement, null, 2)}\n`;
    },
    async unintended({ before, after, lock }, intended, signal) {
      const secrets = privateInputs(lock);
      const diff = await compare(before, after, signal, secrets);
      return unintendedChanges(diff, withAliases(intended, secrets));
    },
    async packages(digest, signal) {
      const store = await context.store();
      return loadInventory(store, parseDigest(digest), { signal, hash: false });
    },
    async texts(digest, paths) {
      const disk = await openDisk(await context.store(), parseDigest(digest));
      try {
        const root = await openRoot(disk);
        const found = new Map<string, string>();
        for (const path of paths) {
          const entry = await root.find(path);
          if (entry?.type !== 'file' || entry.size > maxTextBytes) continue;
          const bytes = await root.read(entry, maxTextBytes);
          if (isUtf8(bytes) && !bytes.includes(0)) found.set(path, bytes.toString('utf8'));
        }
        return found;
      } finally {
        await disk.close();
      }
    },
    async diff(before, after, signal) {
      const diff = await compare(before, after, signal);
      return { same: isSame(diff), diff: diff as unknown as Json, text: formatDiff(diff, { maxFiles: 200 }) };
    },
  };
}

const maxTextBytes = 65_536;

/** In an inventory that is kept, what is private is called and placed by its alias. */
function withAliases(intended: IntendedChanges, secrets: readonly PrivateInput[]): IntendedChanges {
  const set = secrets.filter(({ names }) => names.some((name) => intended.names.includes(name)));
  const aliases = set.map(({ alias }) => alias);
  return {
    ...intended,
    packages: [...intended.packages, ...aliases],
    places: [...intended.places, ...aliases.map((alias) => `/${alias}`)],
  };
}

type RecordPlace = readonly [kind: keyof typeof recordTypes, mediaType?: string];

const recordPlace: Readonly<Record<Exclude<ImageRecordKind, 'provenance'>, RecordPlace>> = {
  notes: ['notes'],
  'notes-markdown': ['notes', 'text/markdown'],
  cyclonedx: ['cycloneDx'],
  spdx: ['spdx'],
  inventory: ['inventory'],
};

/** A disk of the simulation has neither partitions nor files. One that is damaged or encrypted is another matter. */
function hasNoSystem(error: unknown): boolean {
  return error instanceof ImagoError && (error.code === 'inventory-invalid' || error.code === 'gpt-invalid');
}

/** A previous version that is deleted or unreadable has no differences to report. */
function absentOrUnreadable(error: unknown): undefined {
  if (error instanceof ImagoError && error.kind !== 'bug' && error.kind !== 'cancelled') return undefined;
  throw error;
}
