// Names of blobs: `sha256:` and 64 hex digits. Everything in the store is found, and checked, by one.
import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode } from '../../host/files/durable-files.ts';

export type Digest = `sha256:${string}`;

const pattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): text is Digest {
  return pattern.test(text);
}

/** Throws `input-invalid` for anything else than a full sha256 digest in lower case. */
export function parseDigest(text: string): Digest {
  if (isDigest(text)) return text;
  throw new ImagoError('input-invalid', `${JSON.stringify(text.slice(0, 100))} is not a sha256 digest`);
}

export function digestOf(bytes: Uint8Array): Digest {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

export function hexOf(digest: Digest): string {
  return digest.slice('sha256:'.length);
}

/** The start of a digest, enough for a person to tell it from others. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

/** The digest of a file's content, or `undefined` if the file does not exist. */
export async function hashFile(path: string): Promise<Digest | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const part of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(part);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  return `sha256:${hash.digest('hex')}`;
}
