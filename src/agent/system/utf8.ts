// Converts text to bytes and back, because QuickJS has no TextDecoder.

/** Replaces bytes that are not UTF-8 by U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  const parts: string[] = [];
  let points: number[] = [];
  let at = 0;
  while (at < bytes.length) {
    const [point, length] = decodePoint(bytes, at);
    points.push(point);
    at += length;
    if (points.length < 4096) continue;
    parts.push(String.fromCodePoint(...points));
    points = [];
  }
  parts.push(String.fromCodePoint(...points));
  return parts.join('');
}

const replacement = 0xfffd;

function decodePoint(bytes: Uint8Array, at: number): readonly [point: number, length: number] {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return [first, 1];
  const length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || first >= 0xf5) return [replacement, 1];
  let point = first & (0xff >> (length + 1));
  for (let index = 1; index < length; index += 1) {
    const next = bytes[at + index] ?? 0;
    if ((next & 0xc0) !== 0x80) return [replacement, index];
    point = (point << 6) | (next & 0x3f);
  }
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x10000;
  const valid = point >= least && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return [valid ? point : replacement, length];
}

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3);
  let at = 0;
  for (const character of text) {
    const point = character.isWellFormed() ? (character.codePointAt(0) ?? 0) : replacement;
    if (point < 0x80) {
      bytes[at++] = point;
      continue;
    }
    const length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    bytes[at++] = ((0xf00 >> length) & 0xff) | (point >> (6 * (length - 1)));
    for (let left = length - 2; left >= 0; left -= 1) bytes[at++] = 0x80 | ((point >> (6 * left)) & 0x3f);
  }
  return bytes.slice(0, at);
}
