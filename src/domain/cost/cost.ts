// What the copies of versions cost in a month: their size, times their replicas in a region, times the price there.
import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { listOf, record } from '../value/fields.ts';

export const galleryCopy = record('GalleryCopy', 'A copy of a version in a gallery.', {
  gallery: z.string(),
  image: z.string(),
  version: z.string(),
  sizeBytes: z.number().optional().describe('Size of the disk, which a gallery counts as a whole.'),
  regions: listOf(z.object({ region: z.string(), replicas: z.int() })),
});
export type GalleryCopy = z.output<typeof galleryCopy>;

const price = z.number().nonnegative();
const priceFile = z.strictObject({
  currency: z.string().min(1).max(10),
  /** For a GiB in a month, where no region has a price of its own. */
  gibMonth: price,
  regions: z.record(z.string(), price).default({}),
});
export type Prices = z.output<typeof priceFile>;

export interface CopyCost extends Omit<GalleryCopy, 'regions'> {
  readonly replicas: number;
  /** For a month; absent if the gallery does not tell the size. */
  readonly cost?: number;
}

/** Throws `input-invalid` with the field that is wrong. */
export function readPrices(value: unknown, file: string): Prices {
  const parsed = priceFile.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ImagoError('input-invalid', `${file}: ${issue?.path.join('.') || 'prices'}: ${issue?.message}`, {
    hint: 'Write `currency: EUR`, `gibMonth: 0.05` and, if needed, `regions: {westeurope: 0.06}`.',
  });
}

export function costOf({ regions, ...copy }: GalleryCopy, prices: Prices): CopyCost {
  const replicas = regions.reduce((sum, one) => sum + one.replicas, 0);
  if (copy.sizeBytes === undefined) return { ...copy, replicas };
  const gib = copy.sizeBytes / 2 ** 30;
  const cost = regions.reduce((sum, one) => sum + gib * one.replicas * priceIn(prices, one.region), 0);
  return { ...copy, replicas, cost: cents(cost) };
}

export function totalOf(costs: readonly CopyCost[]): number {
  return cents(costs.reduce((sum, { cost = 0 }) => sum + cost, 0));
}

function priceIn({ regions, gibMonth }: Prices, region: string): number {
  return Object.hasOwn(regions, region) ? (regions[region] ?? gibMonth) : gibMonth;
}

function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
