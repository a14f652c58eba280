// Versions that were built and tested in the simulated cloud, by the product's own operations.
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import type { Product } from './product.ts';

/** Runs the operation, which must succeed. */
export async function succeed(
  product: Product,
  request: Parameters<Product['run']>[0],
): Promise<OperationRecord> {
  const ended = await product.run(request);
  if (ended.state !== 'succeeded') throw new Error(`${ended.kind} ${ended.state}: ${ended.error?.message}`);
  return ended;
}

/** The numbers of new available versions of the image `node`, oldest first; a second call needs another `first`. */
export async function simulateVersions(
  product: Product,
  count: number,
  first = 0,
): Promise<readonly string[]> {
  const numbers: string[] = [];
  for (let n = first; n < first + count; n += 1) {
    const recipe = {
      ...{ name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' },
      components: [{ name: 'runc', version: `1.1.${n}` }],
    };
    const built = await succeed(product, { kind: 'build', subject: 'image/node', input: { recipe } });
    const { version } = built.result as { readonly version: string };
    await succeed(product, { kind: 'test', subject: 'image/node', input: { reference: `node:${version}` } });
    numbers.push(version);
  }
  return numbers;
}
