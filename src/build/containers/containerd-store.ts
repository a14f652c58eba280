// containerd's own folder with images in it, unpacked and ready to run, written without containerd and the same
// bytes each time: content, overlay snapshots, and the two databases that say what they are. The form is that of
// containerd 1.7 (schema 3 of its metadata), which later ones read too.
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { TarEntry } from '../../disk/tar/entry.ts';
import { type TarItem, tarEntry, tarFile } from '../../disk/tar/writer.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { hexOf } from '../../oci/layout/digest.ts';
import type { Descriptor, Manifest } from '../../oci/layout/manifest.ts';
import { mediaTypes } from '../../oci/layout/media-types.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import { type BoltBucket, boltFile } from './bolt-file.ts';
import { type SnapshotUsage, snapshotEntries } from './image-layers.ts';

export interface StoredImageInput {
  readonly name: string;
  /** Of the manifest. */
  readonly sha256: string;
  readonly manifest: Manifest;
  readonly pinned?: boolean;
}

const root = 'var/lib/containerd';
const content = `${root}/io.containerd.content.v1.content`;
const snapshots = `${root}/io.containerd.snapshotter.v1.overlayfs`;
const metadata = `${root}/io.containerd.metadata.v1.bolt`;
const namespace = 'k8s.io';

interface Snapshot {
  readonly id: number;
  readonly chain: string;
  readonly parent: Snapshot | undefined;
  readonly layer: Descriptor;
  readonly diff: string;
  readonly usage: SnapshotUsage;
  readonly folders: Map<string, TarEntry>;
}

/** The entries of the layer. The parts of all images must be in the input store. */
export async function* containerdStore(
  images: readonly StoredImageInput[],
  inputs: ContentFolder,
  epoch: number,
): AsyncGenerator<TarItem> {
  const known = new Map<string, Snapshot>();
  const blobs = new Map<string, { size: number; labels: Map<string, string> }>();
  const note = (digest: string, size: number, labels: readonly (readonly [string, string])[] = []) => {
    const blob = blobs.get(digest) ?? { size, labels: new Map() };
    for (const [key, value] of labels) blob.labels.set(key, value);
    blobs.set(digest, blob);
  };
  yield* folders(epoch);
  for (const image of images) await planImage(image, inputs, known, note);
  for (const digest of [...blobs.keys()].sort()) yield await blobItem(digest, inputs, epoch);
  for (const snapshot of known.values()) yield* snapshotItems(snapshot, inputs, epoch);
  const [meta, snapshotter] = [metadataFile(images, blobs, known, epoch), snapshotterFile(known, epoch)];
  yield tarFile(`${snapshots}/metadata.db`, boltFile(snapshotter), { mode: 0o600, mtime: epoch });
  yield tarFile(`${metadata}/meta.db`, boltFile(meta), { mode: 0o644, mtime: epoch });
}

function* folders(epoch: number): Generator<TarItem> {
  const modes: readonly [string, number][] = [
    [root, 0o711],
    [content, 0o755],
    [`${content}/blobs`, 0o755],
    [`${content}/blobs/sha256`, 0o755],
    [`${content}/ingest`, 0o755],
    [snapshots, 0o700],
    [`${snapshots}/snapshots`, 0o700],
    [metadata, 0o711],
  ];
  for (const [path, mode] of modes)
    yield { entry: tarEntry(path, { type: 'directory', mode, mtime: epoch }) };
}

const imageConfig = z.looseObject({ rootfs: z.looseObject({ diff_ids: z.array(z.string()) }) });

type Note = (digest: string, size: number, labels?: readonly (readonly [string, string])[]) => void;

async function planImage(
  { name, sha256, manifest }: StoredImageInput,
  inputs: ContentFolder,
  known: Map<string, Snapshot>,
  note: Note,
): Promise<void> {
  const config = await inputs.find(hexOf(manifest.config.digest));
  const parsed =
    config && imageConfig.safeParse(JSON.parse((await inputs.readBytes(config)).toString('utf8')));
  const diffs = parsed?.success === true ? parsed.data.rootfs.diff_ids : [];
  if (diffs.length !== manifest.layers.length || diffs.length === 0) {
    throw new ImagoError(
      'input-mismatch',
      `${name} is not a container image: its config does not fit its layers.`,
    );
  }
  const manifestSize = (await inputs.find(sha256))?.sizeBytes ?? 0;
  const layers = manifest.layers.map(
    (layer, index) => [`containerd.io/gc.ref.content.l.${index}`, layer.digest] as const,
  );
  note(`sha256:${sha256}`, manifestSize, [
    ['containerd.io/gc.ref.content.config', manifest.config.digest],
    ...layers,
  ]);
  let parent: Snapshot | undefined;
  for (const [index, layer] of manifest.layers.entries()) {
    const diff = diffs[index] ?? '';
    note(layer.digest, layer.size, [['containerd.io/uncompressed', diff]]);
    const chain = parent === undefined ? diff : `sha256:${hashText(`${parent.chain} ${diff}`)}`;
    const snapshot: Snapshot = known.get(chain) ?? {
      ...{ id: known.size + 1, chain, parent, layer, diff },
      ...{ usage: { inodes: 1, bytes: 4096 }, folders: new Map() },
    };
    known.set(chain, snapshot);
    parent = snapshot;
  }
  note(manifest.config.digest, manifest.config.size, [
    ['containerd.io/gc.ref.snapshot.overlayfs', parent?.chain ?? ''],
  ]);
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function blobItem(digest: string, inputs: ContentFolder, epoch: number): Promise<TarItem> {
  const sha256 = digest.slice('sha256:'.length);
  const stored = await inputs.find(sha256);
  if (stored === undefined)
    throw new ImagoError('input-missing', `A part of a container image is gone: ${digest}.`);
  const entry = tarEntry(`${content}/blobs/sha256/${sha256}`, {
    size: stored.sizeBytes,
    mode: 0o444,
    mtime: epoch,
  });
  return { entry, content: inputs.read(stored) };
}

async function* snapshotItems(
  snapshot: Snapshot,
  inputs: ContentFolder,
  epoch: number,
): AsyncGenerator<TarItem> {
  const folder = `${snapshots}/snapshots/${snapshot.id}`;
  const directory = (path: string, mode: number) => ({
    entry: tarEntry(path, { type: 'directory', mode, mtime: epoch }),
  });
  yield directory(folder, 0o700);
  yield directory(`${folder}/fs`, 0o755);
  yield directory(`${folder}/work`, 0o711);
  const stored = await inputs.find(hexOf(snapshot.layer.digest));
  if (stored === undefined)
    throw new ImagoError('input-missing', `A layer is gone: ${snapshot.layer.digest}.`);
  const { diff, usage, folders, parent } = snapshot;
  for (const [path, entry] of parent?.folders ?? []) folders.set(path, entry);
  yield* snapshotEntries({
    content: inputs.read(stored),
    diff,
    folder: `${folder}/fs`,
    epoch,
    usage,
    folders,
  });
}

function bucket(
  entries: Iterable<readonly [string | Buffer, Buffer | BoltBucket]>,
  sequence = 0,
): BoltBucket {
  return { entries: new Map(entries), sequence };
}

function text(value: string): Buffer {
  return Buffer.from(value);
}

function times(epoch: number): readonly (readonly [string, Buffer])[] {
  return [
    ['createdat', goTime(epoch)],
    ['updatedat', goTime(epoch)],
  ];
}

function labelBucket(
  labels: Iterable<readonly [string, string]>,
): readonly (readonly [string, BoltBucket])[] {
  const entries = [...labels].map(([key, value]) => [key, text(value)] as const);
  return entries.length === 0 ? [] : [['labels', bucket(entries)]];
}

function metadataFile(
  images: readonly StoredImageInput[],
  blobs: ReadonlyMap<string, { size: number; labels: ReadonlyMap<string, string> }>,
  known: ReadonlyMap<string, Snapshot>,
  epoch: number,
): BoltBucket {
  const blobBuckets = [...blobs].map(
    ([digest, { size, labels }]) =>
      [digest, bucket([...times(epoch), ['size', varint(size)], ...labelBucket(labels)])] as const,
  );
  const all = [...known.values()];
  const snapshotBuckets = all.map((snapshot) => {
    const children = all
      .filter(({ parent }) => parent === snapshot)
      .map(({ chain }) => [chain, text('')] as const);
    return [
      snapshot.chain,
      bucket([
        ...times(epoch),
        ['name', text(snapshotName(snapshot))],
        ...(snapshot.parent === undefined ? [] : [['parent', text(snapshot.parent.chain)] as const]),
        ...(children.length === 0 ? [] : [['children', bucket(children)] as const]),
      ]),
    ] as const;
  });
  const own = bucket([
    [
      'content',
      bucket([
        ['blob', bucket(blobBuckets)],
        ['ingests', bucket([])],
      ]),
    ],
    ['images', bucket(images.flatMap((image) => imageBuckets(image, blobs, epoch)))],
    ['leases', bucket([])],
    ['snapshots', bucket([['overlayfs', bucket(snapshotBuckets, all.length)]])],
  ]);
  return bucket([
    [
      'v1',
      bucket([
        [namespace, own],
        ['version', varint(3)],
      ]),
    ],
  ]);
}

/** By its name, by its digest, and by the id that the kubelet knows it by. */
function imageBuckets(
  { name, sha256, manifest, pinned }: StoredImageInput,
  blobs: ReadonlyMap<string, { size: number }>,
  epoch: number,
): readonly (readonly [string, BoltBucket])[] {
  const digest = `sha256:${sha256}`;
  const repository = name.slice(0, name.lastIndexOf(':'));
  const labels: [string, string][] = [['io.cri-containerd.image', 'managed']];
  if (pinned === true) labels.push(['io.cri-containerd.pinned', 'pinned']);
  const target = bucket([
    ['digest', text(digest)],
    ['mediatype', text(manifest.mediaType ?? mediaTypes.manifest)],
    ['size', varint(blobs.get(digest)?.size ?? 0)],
  ]);
  const record = bucket([...times(epoch), ...labelBucket(labels), ['target', target]]);
  return [name, `${repository}@${digest}`, manifest.config.digest].map((key) => [key, record] as const);
}

function snapshotName({ id, chain }: Snapshot): string {
  return `${namespace}/${id}/${chain}`;
}

const committed = Buffer.from([3]);

function snapshotterFile(known: ReadonlyMap<string, Snapshot>, epoch: number): BoltBucket {
  const all = [...known.values()];
  const rows = all.map(
    (snapshot) =>
      [
        snapshotName(snapshot),
        bucket([
          ...times(epoch),
          ['id', uvarint(snapshot.id)],
          ['kind', committed],
          ['inodes', varint(snapshot.usage.inodes)],
          ['size', varint(snapshot.usage.bytes)],
          ...(snapshot.parent === undefined
            ? []
            : [['parent', text(snapshotName(snapshot.parent))] as const]),
        ]),
      ] as const,
  );
  const parents = all.flatMap((snapshot) =>
    snapshot.parent === undefined
      ? []
      : [
          [
            Buffer.concat([uvarint(snapshot.parent.id), Buffer.from([0]), uvarint(snapshot.id)]),
            text(snapshotName(snapshot)),
          ] as const,
        ],
  );
  return bucket([
    [
      'v1',
      bucket([
        ['snapshots', bucket(rows, all.length)],
        ['parents', bucket(parents)],
      ]),
    ],
  ]);
}

/** `time.Time.MarshalBinary` of a whole second in UTC. */
function goTime(epoch: number): Buffer {
  const bytes = Buffer.alloc(15);
  bytes.writeUInt8(1, 0);
  bytes.writeBigInt64BE(BigInt(epoch) + 62_135_596_800n, 1);
  bytes.writeInt16BE(-1, 13);
  return bytes;
}

/** `binary.PutUvarint`. */
function uvarint(value: number): Buffer {
  const bytes: number[] = [];
  let left = BigInt(value);
  for (; left >= 0x80n; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

/** `binary.PutVarint` of what is not negative. */
function varint(value: number): Buffer {
  return uvarint(value * 2);
}
