// Version numbers: three whole numbers without leading zeros, each within 32 bits. Azure's gallery allows no more.

import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';

export interface VersionNumber {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export const largestPart = 2_147_483_647;

const pattern = /^(0|[1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,9})\.(0|[1-9][0-9]{0,9})$/;

/** The number, or `undefined` when the text is not one. */
export function readNumber(text: string): VersionNumber | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const number = { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) };
  return isVersionNumber(number) ? number : undefined;
}

/** The number, or `number-malformed` with the number that was probably meant. */
export function parseNumber(text: string): VersionNumber {
  const number = readNumber(text);
  if (number !== undefined) return number;
  const likely = likelyNumber(text);
  throw new ImagoError('number-malformed', `${quote(text)} is not a version number.`, {
    ...(likely === undefined ? {} : { hint: `Did you mean \`${likely}\`?` }),
  });
}

export function formatNumber({ major, minor, patch }: VersionNumber): string {
  return `${major}.${minor}.${patch}`;
}

export function isVersionNumber({ major, minor, patch }: VersionNumber): boolean {
  return [major, minor, patch].every((part) => Number.isInteger(part) && part >= 0 && part <= largestPart);
}

/** Negative when `a` is smaller, positive when it is greater. */
export function compareNumbers(a: VersionNumber, b: VersionNumber): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** As `compareNumbers`, for numbers as text. */
export function compareVersions(a: string, b: string): number {
  return compareNumbers(parseNumber(a), parseNumber(b));
}

/** The number that was probably meant by `v1.34`, `01.2.3`, `1.2.3-rc.1` or `2026-11-15`. */
export function likelyNumber(text: string): string | undefined {
  const match = /^v?([0-9]+)(?:[.-]([0-9]+))?(?:[.-]([0-9]+))?(?:$|[-+.].*$)/i.exec(text.trim());
  if (match === null) return undefined;
  const likely = [match[1], match[2], match[3]].map((part) => Number(part ?? 0)).join('.');
  return readNumber(likely) === undefined ? undefined : likely;
}
