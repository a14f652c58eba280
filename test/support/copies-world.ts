// A product with two versions and galleries to copy them to, in a database of its own.
import type { GalleryRecord } from '../../src/domain/gallery/gallery.ts';
import { createProduct, type Product } from './product.ts';
import { simulateVersions } from './simulated-versions.ts';
import type { StoreBench } from './store.ts';

export async function copiesWorld(bench: StoreBench, ...galleries: Partial<GalleryRecord>[]) {
  const product = await createProduct(await bench.freshStore());
  for (const gallery of galleries) await tell(product, gallery);
  const numbers = await simulateVersions(product, 2);
  return { product, first: numbers[0] ?? '', second: numbers[1] ?? '' };
}

export function tell(product: Product, gallery: Partial<GalleryRecord>) {
  const usual = {
    name: 'public',
    provider: 'sim',
    place: 'public',
    channels: [],
    regions: [],
    public: false,
  };
  return product.store.galleryBook.set({ ...usual, by: 'ann', ...gallery });
}

export function publish(product: Product, version: string, more: object) {
  return product.run({
    kind: 'image-publish',
    subject: 'image/node',
    input: { reference: `node:${version}`, ...more },
  });
}

export const regions = [
  { region: 'eastus', replicas: 2 },
  { region: 'northeurope', replicas: 1 },
];
export const options = { signal: AbortSignal.timeout(600_000), epoch: 0 };

export function copyOf(product: Product, gallery: string, version: string) {
  return product.sim.galleries?.open(gallery).getVersion('node', version, options);
}
