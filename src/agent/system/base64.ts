// base64, where there is no atob.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** White space is passed over; undefined when the rest is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/\s+/g, '');
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return undefined;
  const padding = packed.endsWith('==') ? 2 : packed.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((packed.length / 4) * 3 - padding);
  let at = 0;
  for (let index = 0; index < packed.length; index += 4) {
    let group = 0;
    for (let offset = 0; offset < 4; offset += 1) {
      group = (group << 6) | Math.max(0, alphabet.indexOf(packed.charAt(index + offset)));
    }
    for (let shift = 16; shift >= 0 && at < bytes.length; shift -= 8) bytes[at++] = (group >> shift) & 0xff;
  }
  return bytes;
}
