// The public part of a key that nobody has.
import { generateKeyPairSync } from 'node:crypto';

export function newPublicKey(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}
