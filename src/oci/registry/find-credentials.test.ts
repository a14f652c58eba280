import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findCredentials } from './find-credentials.ts';

let home = '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'imago-sign-in-'));
  await mkdir(join(home, '.docker'));
});

afterEach(() => rm(home, { recursive: true, force: true }));

async function signedIn(content: object): Promise<void> {
  await writeFile(join(home, '.docker', 'config.json'), JSON.stringify(content));
}

const encoded = (text: string) => Buffer.from(text).toString('base64');

test('without a sign-in the registry is queried anonymously', async () => {
  expect(await findCredentials('registry.example', { HOME: home })).toBeUndefined();
});

test('what `docker login` wrote is for its registry alone', async () => {
  await signedIn({ auths: { 'registry.example:5000': { auth: encoded('ann:pass:word') } } });
  expect(await findCredentials('registry.example:5000', { HOME: home })).toEqual({
    username: 'ann',
    password: 'pass:word',
  });
  expect(await findCredentials('registry.example', { HOME: home })).toBeUndefined();
});

test('the file that REGISTRY_AUTH_FILE names comes first', async () => {
  await signedIn({ auths: { 'registry.example': { auth: encoded('ann:old') } } });
  const other = join(home, 'auth.json');
  await writeFile(
    other,
    JSON.stringify({ auths: { 'https://registry.example/v2/': { auth: encoded('ci:new') } } }),
  );
  const env = { HOME: home, REGISTRY_AUTH_FILE: other };
  expect(await findCredentials('registry.example', env)).toEqual({ username: 'ci', password: 'new' });
});

test('a helper is asked, and its token is taken', async () => {
  await signedIn({ credHelpers: { 'registry.example': 'vault' } });
  const helper = join(home, 'docker-credential-vault');
  await writeFile(
    helper,
    '#!/bin/sh\nread host\nprintf \'{"Username":"<token>","Secret":"of %s"}\' "$host"\n',
  );
  await chmod(helper, 0o755);
  const env = { HOME: home, PATH: `${home}:/usr/bin:/bin` };
  expect(await findCredentials('registry.example', env)).toEqual({ token: 'of registry.example' });
});

test('a missing helper and an invalid helper name are reported without any secret', async () => {
  await signedIn({ credHelpers: { a: 'missing', b: '../../bin/sh' } });
  const env = { HOME: home, PATH: '/nowhere' };
  await expect(findCredentials('a', env)).rejects.toMatchObject({ code: 'registry-denied' });
  await expect(findCredentials('b', env)).rejects.toMatchObject({ code: 'registry-denied' });
});

test('a file that is not JSON is reported by its path', async () => {
  await writeFile(join(home, '.docker', 'config.json'), '{');
  await expect(findCredentials('a', { HOME: home })).rejects.toThrow(/config\.json cannot be read/);
});
