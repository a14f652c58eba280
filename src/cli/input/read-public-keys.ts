// Reads public keys from a file: PEM, or the output of `imago keys show --json` or `imago keys list --json` of another
// installation, which includes the validity period of each key. A private key is refused before anything is sent.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface ReadKey {
  readonly publicKey: string;
  readonly validFrom?: string;
  readonly validUntil?: string;
  readonly revoked?: string;
}

const block = /-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----/g;

/** Throws `key-invalid` if the text contains no public key, or a private one. */
export function readPublicKeys(text: string, file: string): readonly ReadKey[] {
  if (text.includes('PRIVATE KEY')) {
    throw new ImagoError('key-invalid', `${file} contains a private key. Share only the public key.`, {
      hint: 'Its owner gets the public key with `imago keys show`, or `cosign public-key --key FILE`.',
    });
  }
  const found = text.trimStart().startsWith('{') ? readDocument(text, file) : readPem(text);
  if (found.length > 0) return found;
  throw new ImagoError('key-invalid', `${file} contains no public key.`, {
    hint: 'Its owner gets it with `imago keys show`.',
  });
}

function readPem(text: string): readonly ReadKey[] {
  return [...text.matchAll(block)].map(([publicKey]) => ({ publicKey: `${publicKey}\n` }));
}

function readDocument(text: string, file: string): readonly ReadKey[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ImagoError('key-invalid', `${file} is neither PEM nor JSON.`, { cause });
  }
  const items = isObject(value) && Array.isArray(value.items) ? value.items : [value];
  return items.flatMap((item: unknown) => (isObject(item) ? readItem(item) : []));
}

/** Skips keys that the other installation only trusts. */
function readItem({ publicKey, owner, ...rest }: Readonly<Record<string, unknown>>): readonly ReadKey[] {
  if (typeof publicKey !== 'string' || owner !== undefined) return [];
  const dates = (['validFrom', 'validUntil', 'revoked'] as const).flatMap((name) => {
    const value = rest[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return [{ publicKey, ...Object.fromEntries(dates) }];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
