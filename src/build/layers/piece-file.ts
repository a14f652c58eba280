// Names a file by its content: the hash of the hashes of its pieces, of which several are made at the same time.
import { createHash, webcrypto } from 'node:crypto';
import { open } from 'node:fs/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { readFully } from '../../disk/bytes/byte-source.ts';
import { free } from '../../oci/chunks/chunk-jobs.ts';

const pieceBytes = 4 * 1024 * 1024;
const atOnce = 3;

export interface PieceName {
  /** Of the sha256 of each piece of 4 MiB, one behind the other. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

export async function namePieces(path: string, signal?: AbortSignal): Promise<PieceName> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const hashes: Uint8Array[] = [];
    let next = 0;
    const worker = async () => {
      for (let at = next; at < size; at = next) {
        next += pieceBytes;
        throwIfAborted(signal);
        const piece = await readFully(file, at, Buffer.allocUnsafeSlow(Math.min(pieceBytes, size - at)));
        hashes[at / pieceBytes] = new Uint8Array(await webcrypto.subtle.digest('SHA-256', piece));
        free(piece);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const whole = createHash('sha256');
    for (const hash of hashes) whole.update(hash);
    return { sha256: whole.digest('hex'), sizeBytes: size };
  } finally {
    await file.close();
  }
}
