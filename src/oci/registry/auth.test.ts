import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { parseChallenge, RegistryAuth } from './auth.ts';
import type { HttpClient, HttpRequest } from './http.ts';

function tokenServer(status: number, body: unknown): HttpClient & { readonly seen: HttpRequest[] } {
  const seen: HttpRequest[] = [];
  return {
    seen,
    async send(request) {
      seen.push(request);
      const content = Readable.from([Buffer.from(JSON.stringify(body))]);
      return { status, headers: {}, body: content as never };
    },
    close: () => undefined,
  };
}

const credentials = { username: 'ann', password: 'secret' };
const bearer = parseChallenge(
  'Bearer realm="https://auth.example/token",service="registry",scope="repository:a:pull"',
);

describe('challenges', () => {
  test('are read in every form that registries send', () => {
    expect(bearer).toEqual({
      scheme: 'bearer',
      parameters: { realm: 'https://auth.example/token', service: 'registry', scope: 'repository:a:pull' },
    });
    expect(parseChallenge('Basic realm="Registry Realm"')?.scheme).toBe('basic');
    expect(parseChallenge('basic')?.scheme).toBe('basic');
    expect(parseChallenge('Negotiate, Bearer realm="https://a/b"')?.parameters.realm).toBe('https://a/b');
    expect(parseChallenge('Negotiate')).toBeUndefined();
    expect(parseChallenge(undefined)).toBeUndefined();
  });
});

describe('signing in', () => {
  test('a token is asked for once a scope, and again when it is about to end', async () => {
    const http = tokenServer(200, { token: 't1', expires_in: 300 });
    let now = 1_000_000;
    const auth = new RegistryAuth(http, credentials, false, () => now);
    expect(auth.header('repository:a:pull')).toBeUndefined();
    expect(await auth.answer(bearer, 'repository:a:pull', undefined, undefined)).toBe(true);
    expect(auth.header('repository:a:pull')).toBe('Bearer t1');
    expect(auth.header('repository:b:pull')).toBeUndefined();
    const { url, headers } = http.seen[0] ?? {};
    expect(url?.searchParams.getAll('scope')).toEqual(['repository:a:pull']);
    expect(headers?.authorization).toBe(`Basic ${Buffer.from('ann:secret').toString('base64')}`);
    now += 295_000;
    expect(auth.header('repository:a:pull')).toBeUndefined();
  });

  test('a password is never sent in the clear to where the registry points', async () => {
    const http = tokenServer(200, { token: 't' });
    const auth = new RegistryAuth(http, credentials, false);
    const challenge = parseChallenge('Bearer realm="http://auth.example/token"');
    await expect(auth.answer(challenge, 's', undefined, undefined)).rejects.toMatchObject({
      code: 'registry-denied',
    });
    expect(http.seen).toEqual([]);
  });

  test('a refused token is final, a failing token service is not', async () => {
    const denied = new RegistryAuth(tokenServer(401, {}), credentials, false);
    await expect(denied.answer(bearer, 's', undefined, undefined)).rejects.toMatchObject({
      code: 'registry-denied',
      retryable: false,
    });
    const failing = new RegistryAuth(tokenServer(503, {}), credentials, false);
    await expect(failing.answer(bearer, 's', undefined, undefined)).rejects.toMatchObject({
      retryable: true,
    });
    const strange = new RegistryAuth(tokenServer(200, { hello: 1 }), credentials, false);
    await expect(strange.answer(bearer, 's', undefined, undefined)).rejects.toThrow('without a token');
  });

  test('requests that are challenged at the same time share one token', async () => {
    const http = tokenServer(200, { token: 't' });
    const auth = new RegistryAuth(http, credentials, false);
    const answers = [1, 2, 3].map(() => auth.answer(bearer, 'repository:a:pull', undefined, undefined));
    expect(await Promise.all(answers)).toEqual([true, true, true]);
    expect(http.seen.length).toBe(1);
  });

  test('basic is answered once; without credentials not at all', async () => {
    const auth = new RegistryAuth(tokenServer(200, {}), credentials, false);
    const basic = parseChallenge('Basic realm="x"');
    expect(await auth.answer(basic, 's', undefined, undefined)).toBe(true);
    expect(auth.header('s')).toMatch(/^Basic /);
    expect(await auth.answer(basic, 's', undefined, undefined)).toBe(true);
    expect(await auth.answer(basic, 's', auth.header('s'), undefined)).toBe(false);
    expect(
      await new RegistryAuth(tokenServer(200, {}), undefined, false).answer(basic, 's', undefined, undefined),
    ).toBe(false);
  });
});
