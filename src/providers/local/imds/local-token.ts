// Tokens for the managed identity of a machine on this host, signed by a key of this host, so that the holder of its public
// key can verify which machine requests. They are invalid in any cloud.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeFileDurably } from '../../../host/files/durable-files.ts';

export interface TokenClaims {
  readonly iss: 'imago-local';
  /** The machine's id. */
  readonly sub: string;
  readonly name: string;
  /** The resource that the token is for. */
  readonly aud: string;
  readonly nbf: number;
  readonly exp: number;
}

export interface TokenIssuer {
  issue(claims: Omit<TokenClaims, 'iss'>): string;
  /** The claims of a token that this host signed for that resource and that is valid now. */
  check(token: string, resource: string, nowSeconds: number): TokenClaims | undefined;
}

const header = encode({ alg: 'EdDSA', typ: 'JWT' });

/** Reads the key from the file, or makes one there that only this user can read. */
export async function openTokenIssuer(keyFile: string): Promise<TokenIssuer> {
  const known = await readFile(keyFile, 'utf8').catch(() => undefined);
  if (known !== undefined) return tokenIssuer(createPrivateKey(known));
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFileDurably(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
  return tokenIssuer(privateKey);
}

export function tokenIssuer(key: KeyObject): TokenIssuer {
  const publicKey = createPublicKey(key);
  return {
    issue(claims) {
      const text = `${header}.${encode({ iss: 'imago-local', ...claims })}`;
      return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
    },
    check(token, resource, nowSeconds) {
      const [head, body, signature, ...rest] = token.split('.');
      if (head !== header || body === undefined || signature === undefined || rest.length > 0)
        return undefined;
      const signed = Buffer.from(`${head}.${body}`);
      if (!verify(null, signed, publicKey, Buffer.from(signature, 'base64url'))) return undefined;
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as TokenClaims;
      const valid = claims.aud === resource && claims.nbf <= nowSeconds && nowSeconds < claims.exp;
      return valid ? claims : undefined;
    },
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
