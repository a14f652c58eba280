import { describe, expect, test } from 'vitest';
import { type AddressRules, addressGuard, type Resolve } from './address-guard.ts';

const addresses: Readonly<Record<string, readonly string[]>> = {
  'public.example': ['93.184.216.34'],
  'inside.example': ['10.1.2.3'],
  'both.example': ['93.184.216.34', '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
};
const resolve: Resolve = (host, answer) =>
  answer(
    null,
    (addresses[host] ?? []).map((address) => ({ address, family: 4 })),
  );

const strict: AddressRules = { allow: [], refusePrivate: true };
const owner: AddressRules = { allow: [], refusePrivate: false };

async function reach(url: string, rules: AddressRules): Promise<string> {
  const guard = addressGuard(rules, resolve);
  try {
    await guard.checkName(new URL(url));
    return 'reached';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('a guard that refuses private addresses', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://0.0.0.0/',
    'http://inside.example/',
    'http://both.example/',
    'http://168.63.129.16/',
    'ftp://public.example/',
    'file:///etc/passwd',
  ])('does not reach %s', async (url) => {
    expect(await reach(url, strict)).toBe('address-refused');
  });

  test('reaches public addresses, and what is allowed by name, address, or range', async () => {
    expect(await reach('https://public.example/', strict)).toBe('reached');
    for (const allow of ['inside.example', '10.1.2.3', '10.0.0.0/8']) {
      expect(await reach('http://inside.example/', { ...strict, allow: [allow] })).toBe('reached');
    }
    expect(await reach('http://[fd00::1]/', { ...strict, allow: ['fd00::/8'] })).toBe('reached');
    expect(await reach('http://127.0.0.1/', { ...strict, allow: ['10.0.0.0/8'] })).toBe('address-refused');
  });
});

test.each([
  'http://169.254.169.254/',
  'http://metadata.example/',
  'http://[fe80::1]/',
  'http://168.63.129.16/',
])('reaches a metadata service by %s only if it is allowed by its address', async (url) => {
  expect(await reach(url, owner)).toBe('address-refused');
  expect(await reach('http://127.0.0.1/', owner)).toBe('reached');
});

test('a connection gets only addresses that were checked', async () => {
  const { lookupFor } = addressGuard(strict, resolve);
  const url = new URL('http://public.example/');
  const found = await new Promise((done) =>
    lookupFor(url)('public.example', { all: true }, (...answer) => done(answer)),
  );
  expect(found).toEqual([null, [{ address: '93.184.216.34', family: 4 }]]);
  const error = await new Promise((done) => lookupFor(url)('both.example', {}, (cause) => done(cause)));
  expect(error).toMatchObject({ code: 'address-refused' });
});

test('trusts a server that the administrator configured elsewhere, and no other port of its host', async () => {
  const guard = addressGuard(strict, resolve);
  const refused = expect.objectContaining({ code: 'address-refused' });
  guard.trust(new URL('http://inside.example/debian'));
  guard.trust(new URL('http://127.0.0.1:3142/debian'));
  await guard.checkName(new URL('http://inside.example:80/debian/dists'));
  await guard.checkName(new URL('http://127.0.0.1:3142/debian/dists'));
  await expect(guard.checkName(new URL('http://inside.example:9200/'))).rejects.toEqual(refused);
  await expect(guard.checkName(new URL('http://127.0.0.1:9200/'))).rejects.toEqual(refused);
  expect(() => guard.check(new URL('http://10.1.2.3/'))).toThrow(refused);
  const lookup = guard.lookupFor(new URL('http://inside.example:9200/'));
  expect(await new Promise((done) => lookup('inside.example', {}, (cause) => done(cause)))).toEqual(refused);
});
