// Tokens of the emulator: signed for this run, so that it accepts its own ones until they expire and no others.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { tenant } from '../arm/documents.ts';

const lifetimeSeconds = 86_400;

export class Tokens {
  readonly #key = randomBytes(32);

  issue(client: string): { readonly token: string; readonly expiresIn: number } {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      ...{
        aud: 'https://management.azure.com',
        iss: `https://sts.windows.net/${tenant}/`,
        tid: tenant,
        ver: '1.0',
      },
      ...{ appid: client, oid: client, sub: client, iat: now, nbf: now, exp: now + lifetimeSeconds },
    };
    const head = [{ typ: 'JWT', alg: 'HS256' }, claims].map(encode).join('.');
    return { token: `${head}.${this.#sign(head)}`, expiresIn: lifetimeSeconds };
  }

  accepts(token: string): boolean {
    const [header = '', claims = '', signature = ''] = token.split('.');
    const expected = Buffer.from(this.#sign(`${header}.${claims}`));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { readonly exp: number };
    return Date.now() / 1000 < exp;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
