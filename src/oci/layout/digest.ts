// Names of blobs: `sha256:` and 64 hex digits. Everything in the store is found, and checked, by one.
import { hash } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';

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
