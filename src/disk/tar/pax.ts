// The records of PAX headers: `LENGTH KEY=VALUE\n`, with values that may be any bytes.
import { tarInvalid } from './entry.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw tarInvalid(`a name is not valid UTF-8: ${Buffer.from(bytes).toString('latin1')} (${cause})`);
  }
}

export function decodePax(bytes: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const digits = bytes.toString('latin1', at, space < 0 || space > at + 10 ? at : space);
    const end = at + Number(digits);
    const equals = bytes.indexOf(0x3d, space);
    if (
      !/^[1-9][0-9]*$/.test(digits) ||
      end > bytes.length ||
      bytes[end - 1] !== 0x0a ||
      equals < 0 ||
      equals >= end
    ) {
      throw tarInvalid('a PAX header is damaged');
    }
    records.set(decodeText(bytes.subarray(space + 1, equals)), bytes.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

export function encodePax(records: ReadonlyMap<string, Buffer>): Buffer {
  const parts: Buffer[] = [];
  for (const [key, value] of [...records].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const rest = Buffer.byteLength(key) + value.length + 3;
    let length = rest + String(rest).length;
    length = rest + String(length).length;
    parts.push(Buffer.from(`${length} ${key}=`), value, Buffer.from('\n'));
  }
  return Buffer.concat(parts);
}
