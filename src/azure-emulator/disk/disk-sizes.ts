// What a disk of some size can do, by its kind: the published tiers.
import type { Json } from '../arm/json.ts';

/** Up to how many GiB, the tier, and its operations and megabytes in a second. */
const premium: readonly (readonly [number, string, number, number])[] = [
  [4, 'P1', 120, 25],
  [8, 'P2', 120, 25],
  [16, 'P3', 120, 25],
  [32, 'P4', 120, 25],
  [64, 'P6', 240, 50],
  [128, 'P10', 500, 100],
  [256, 'P15', 1_100, 125],
  [512, 'P20', 2_300, 150],
  [1_024, 'P30', 5_000, 200],
  [2_048, 'P40', 7_500, 250],
  [4_096, 'P50', 7_500, 250],
  [8_192, 'P60', 16_000, 500],
  [16_384, 'P70', 18_000, 750],
  [32_767, 'P80', 20_000, 900],
];

export function performanceOf(sku: string, gigabytes: number): Json {
  if (!sku.startsWith('Premium_'))
    return { diskIOPSReadWrite: 500, diskMBpsReadWrite: sku === 'Standard_LRS' ? 60 : 100 };
  const [, tier, operations, megabytes] = premium.find(([most]) => gigabytes <= most) ?? premium[0] ?? [];
  return { diskIOPSReadWrite: operations, diskMBpsReadWrite: megabytes, tier };
}
