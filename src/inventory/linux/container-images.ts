// The container images in containerd's store on a disk: names from its database, sizes from the content itself.
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { InventoryContainerImage } from '../model/inventory.ts';
import { type BoltBucket, openBolt } from './bolt-reader.ts';
import type { DiskTree } from './disk-tree.ts';

const maxDatabase = 256 * 1024 * 1024;
const maxDocument = 16 * 1024 * 1024;

const descriptor = z.looseObject({ digest: z.string(), size: z.number() });
const documentSchema = z.looseObject({
  manifests: z.array(descriptor).optional(),
  config: descriptor.optional(),
  layers: z.array(descriptor).optional(),
});
const configSchema = z.looseObject({
  os: z.string(),
  architecture: z.string(),
  variant: z.string().optional(),
});

/** Where containerd keeps everything, as its configuration on the disk says. */
export async function containerdRoot(tree: DiskTree): Promise<string> {
  const text = (await tree.readText('/etc/containerd/config.toml')) ?? '';
  const beforeTables = text.split(/^\s*\[/m)[0] ?? '';
  return /^\s*root\s*=\s*["']([^"']+)["']/m.exec(beforeTables)?.[1] ?? '/var/lib/containerd';
}

/** Lists the images by name. A disk without containerd's database has none. */
export async function readContainerImages(tree: DiskTree, root: string): Promise<InventoryContainerImage[]> {
  const database = tree.resolve(`${root}/io.containerd.metadata.v1.bolt/meta.db`);
  if (database === undefined || database.type !== 'file') return [];
  if (database.size > maxDatabase)
    throw new ImagoError('inventory-invalid', "containerd's database is too large");
  const versions = openBolt(await tree.read(database, maxDatabase)).bucket('v1');
  const images: InventoryContainerImage[] = [];
  for (const { key, bucket } of versions?.items() ?? []) {
    const namespace = key.toString('utf8');
    for (const { name, digest, record } of withoutAliases([...namedImages(bucket?.bucket('images'))])) {
      images.push({
        // Kubernetes' own namespace is implied.
        name: namespace === 'k8s.io' ? name : `${namespace}/${name}`,
        digest,
        ...(await measure(tree, root, digest)),
        isPinned: isPinned(record),
      });
    }
  }
  return images.sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface NamedImage {
  readonly name: string;
  readonly digest: string;
  readonly record: BoltBucket;
}

function* namedImages(images: BoltBucket | undefined): Generator<NamedImage> {
  for (const { key, bucket: record } of images?.items() ?? []) {
    if (record === undefined) continue;
    const name = key.toString('utf8');
    const digest = record.bucket('target')?.value('digest')?.toString('utf8') ?? '';
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) {
      throw new ImagoError('inventory-invalid', `containerd's image ${name} has no digest`);
    }
    yield { name, digest, record };
  }
}

/**
 * Keeps the best names of each image. The container runtime records an image under its tag, under its digest and
 * under the digest of its config; only an image without a tag is known by one of the latter.
 */
function withoutAliases(images: readonly NamedImage[]): NamedImage[] {
  const best = new Map<string, number>();
  for (const { name, digest } of images) {
    best.set(digest, Math.min(best.get(digest) ?? 2, aliasRank(name)));
  }
  return images.filter(({ name, digest }) => aliasRank(name) === best.get(digest));
}

function aliasRank(name: string): number {
  if (name.startsWith('sha256:')) return 2;
  return name.includes('@') ? 1 : 0;
}

function isPinned(image: BoltBucket): boolean {
  return image.bucket('labels')?.value('io.cri-containerd.pinned')?.toString('utf8') === 'pinned';
}

async function measure(
  tree: DiskTree,
  root: string,
  digest: string,
): Promise<{ sizeBytes: number; platform: string }> {
  const platforms = new Set<string>();
  const sizes = new Map<string, number>();
  const waiting = [digest];
  const seen = new Set<string>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const document = documentSchema.safeParse(await readDocument(tree, root, next));
    if (!document.success) continue;
    const { manifests = [], config, layers = [] } = document.data;
    waiting.push(...manifests.map((manifest) => manifest.digest));
    for (const part of config === undefined ? [] : [config, ...layers]) sizes.set(part.digest, part.size);
    const platform = configSchema.safeParse(await readDocument(tree, root, config?.digest ?? ''));
    if (!platform.success) continue;
    const { os, architecture, variant } = platform.data;
    platforms.add([os, architecture, variant].filter((part) => part !== undefined && part !== '').join('/'));
  }
  return {
    sizeBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    platform: [...platforms].sort().join(', '),
  };
}

/** A JSON document of the content store; `undefined` when it is not there, or is none. */
async function readDocument(tree: DiskTree, root: string, digest: string): Promise<unknown> {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(digest) ?? [];
  if (hex === undefined) return undefined;
  const blob = tree.resolve(`${root}/io.containerd.content.v1.content/blobs/sha256/${hex}`);
  if (blob === undefined || blob.type !== 'file' || blob.size > maxDocument) return undefined;
  try {
    return JSON.parse((await tree.read(blob, maxDocument)).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
