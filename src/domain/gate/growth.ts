// Growth since the version before, for the gates that limit it.
import * as z from 'zod';

export const growth = z
  .string()
  .refine((text) => /^[0-9]+(?:\.[0-9]+)? ?%$/.test(text), { error: 'is not a percentage', abort: true })
  .describe('For example `10%`.')
  .transform((text) => Number(text.replace('%', '').trim()) / 100);

export function growthOf(before: number, after: number): number {
  if (after <= before) return before === 0 ? 0 : after / before - 1;
  return before === 0 ? Infinity : after / before - 1;
}

export function percent(part: number): string {
  return `${Number((part * 100).toFixed(1))} %`;
}

export function signedPercent(part: number): string {
  return `${part > 0 ? '+' : ''}${percent(part)}`;
}
