// SHA-256, which QuickJS does not have. For texts of the size of node configs, starting a process takes longer than
// computing it.
import type { System } from './system.ts';
import { encodeUtf8 } from './utf8.ts';

/** From this size on `sha256sum` is faster. */
const large = 4096;

const rounds = Int32Array.from(constants(64, 3));
const start = constants(8, 2);

/** Returns lowercase hexadecimal, computed by the faster way. */
export async function digestOfText(system: System, text: string): Promise<string> {
  if (text.length < large) return sha256(text);
  const { stdout } = await system.run(['sha256sum'], { input: text });
  return stdout.slice(0, 64);
}

export function sha256(text: string): string {
  const bytes = padded(encodeUtf8(text));
  const state = Int32Array.from(start);
  const words = new Int32Array(64);
  for (let at = 0; at < bytes.byteLength; at += 64) mix(state, words, bytes, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** One bit, zeros, and the length in bits fill the last blocks. */
function padded(text: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((text.length + 9) / 64) * 64);
  bytes.set(text);
  bytes[text.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(text.length / 2 ** 29));
  view.setUint32(bytes.length - 4, text.length << 3);
  return view;
}

/** Written out: calls and short-lived arrays cost an interpreter more than the sums. */
function mix(state: Int32Array, words: Int32Array, bytes: DataView, at: number): void {
  for (let i = 0; i < 16; i += 1) words[i] = bytes.getInt32(at + i * 4);
  for (let i = 16; i < 64; i += 1) {
    const near = words[i - 2] ?? 0;
    const far = words[i - 15] ?? 0;
    const s1 = ((near >>> 17) | (near << 15)) ^ ((near >>> 19) | (near << 13)) ^ (near >>> 10);
    const s0 = ((far >>> 7) | (far << 25)) ^ ((far >>> 18) | (far << 14)) ^ (far >>> 3);
    words[i] = s1 + (words[i - 7] ?? 0) + s0 + (words[i - 16] ?? 0);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const first = (h + s1 + ((e & f) ^ (~e & g)) + (rounds[i] ?? 0) + (words[i] ?? 0)) | 0;
    const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word;
}

/** The first 32 bits behind the point of the roots of the first primes. */
function constants(count: number, root: number): readonly number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) {
    if (!isPrime(n)) continue;
    const value = n ** (1 / root);
    found.push(((value - Math.floor(value)) * 2 ** 32) | 0);
  }
  return found;
}

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor += 1) if (n % divisor === 0) return false;
  return true;
}
