// Writes DER, the binary form of ASN.1 that certificates and signed documents have.

export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = Buffer.from(evenHex(length.toString(16)), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function evenHex(hex: string): string {
  return hex.length % 2 === 0 ? hex : `0${hex}`;
}

export const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]) => der(0x31, ...parts);
export const octets = (content: Uint8Array) => der(0x04, content);
export const bits = (content: Uint8Array) => der(0x03, Buffer.from([0]), content);
export const text = (content: string) => der(0x0c, Buffer.from(content));
/** `[number]` around what it holds. */
export const tagged = (number: number, ...parts: readonly Uint8Array[]) => der(0xa0 | number, ...parts);

/** Not below zero; the first bit of DER's integers is their sign. */
export function integer(value: number | Uint8Array): Buffer {
  const bytes = typeof value === 'number' ? Buffer.from(evenHex(value.toString(16)), 'hex') : value;
  return der(0x02, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), bytes);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** To the second, with all four digits of the year. */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/\D/g, '').slice(0, 14);
  return der(0x18, Buffer.from(`${digits}Z`));
}
