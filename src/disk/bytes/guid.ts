// GUIDs as partition tables, file systems and VHD footers store them, and ids that follow from a digest
// so that the same input always gives the same disk.
import { createHash } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function uuidBytes(uuid: string): Buffer {
  if (!pattern.test(uuid)) throw new ImagoError('input-invalid', `${JSON.stringify(uuid)} is not a UUID`);
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

export function formatUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

function swapMixedEndian(bytes: Buffer): Buffer {
  const swapped = Buffer.from(bytes);
  swapped.subarray(0, 4).reverse();
  swapped.subarray(4, 6).reverse();
  swapped.subarray(6, 8).reverse();
  return swapped;
}

/** The mixed-endian form of EFI: the first three fields are little-endian. */
export function efiGuidBytes(uuid: string): Buffer {
  return swapMixedEndian(uuidBytes(uuid));
}

export function formatEfiGuid(bytes: Uint8Array): string {
  return formatUuid(swapMixedEndian(Buffer.from(bytes)));
}

/** A version 8 UUID made of the sha256 of `purpose` and `seed`. */
export function deriveUuid(seed: string, purpose: string): string {
  const bytes = createHash('sha256').update(`${purpose}\0${seed}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return formatUuid(bytes);
}
