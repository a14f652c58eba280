// Sizes as people write and read them. A bare `G` is refused: to some it means 1000³ and to others 1024³.

import { ImagoError } from '../error/imago-error.ts';
import { quote } from './quote.ts';

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const decimal = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Three digits and a binary unit: `0 B`, `512 B`, `1.5 KiB`, `30 GiB`. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, Math.round(bytes));
  let unit = 0;
  while (value >= 1023.5 && unit < binary.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = value >= 99.95 || unit === 0 ? 0 : 1;
  return `${Number(value.toFixed(digits))} ${binary[unit]}`;
}

/** `30GiB`, `1.5 MiB`, `2GB` (1000³), `512` or `512B`. Throws `input-invalid`. */
export function parseBytes(text: string): number {
  const match = /^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)$/.exec(text);
  const unit = (match?.[2] ?? '').toLowerCase();
  const scale = unit === '' ? 1 : scaleOf(unit);
  const bytes = Math.round(Number(match?.[1]) * (scale ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new ImagoError('input-invalid', `${quote(text)} is not a size.`, {
    hint: likely(match?.[1], unit) ?? 'Write it like 512MiB, 30GiB or 2GB.',
  });
}

function scaleOf(unit: string): number | undefined {
  const power2 = binary.findIndex((name) => name.toLowerCase() === unit);
  if (power2 >= 0) return 1024 ** power2;
  const power10 = decimal.findIndex((name) => name.toLowerCase() === unit);
  return power10 < 0 ? undefined : 1000 ** power10;
}

function likely(number: string | undefined, unit: string): string | undefined {
  const letter = /^([kmgtp])i?$/.exec(unit)?.[1]?.toUpperCase();
  if (number === undefined || letter === undefined) return undefined;
  return `Write ${number}${letter}iB (1024) or ${number}${letter}B (1000).`;
}
