// Whom the command line acts for: a token that is given always counts, over the socket too.
import { userInfo } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusOf } from '../support/daemon.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';

interface Token {
  readonly id: string;
  readonly secret: string;
}

let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
  await imago.json(['up']);
});
afterAll(() => imago.end());

function tokenFor(owner: string, role: string): Promise<Token> {
  return imago.json<Token>(['token', 'create', '--owner', owner, '--role', role]);
}

test('one OS user with two tokens does not approve its own request over the socket', async () => {
  const bob = { env: { IMAGO_TOKEN: (await tokenFor('bob', 'admin')).secret } };
  const ada = { env: { IMAGO_TOKEN: (await tokenFor('ada', 'admin')).secret } };
  await imago.writeFile('imago.yaml', recipe);
  const { version } = await imago.json<{ version: string }>(['build']);
  await imago.json(['test', `node:${version}`]);
  await imago.writeFile('policy.yaml', 'version: 1\nchannels: {production: {approvals: {count: 1}}}\n');
  await imago.json(['policy', 'set', 'policy.yaml', '--reason', 'four eyes']);
  await imago.json(['image', 'approve', `node:${version}`, '--to', 'production'], ada);
  const promote = ['channel', 'promote', `node:${version}`, '--to', 'production', '--reason', 'weekly'];
  expect((await imago.run([...promote, '--dry-run'], bob)).out).toContain('closed approvals');
  const { code, err } = await imago.run(promote, bob);
  expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining('approvals') });
  const operations = await imago.json<{ items: object[] }>(['op', 'list', '--limit', '1']);
  expect(operations.items).toMatchObject([{ by: 'bob', osUser: userInfo().username }]);
});

describe('IMAGO_TOKEN on the socket', () => {
  test("limits the caller to the token's role", async () => {
    const { secret } = await tokenFor('eve', 'viewer');
    const env = { IMAGO_TOKEN: secret };
    const { code, err } = await imago.run(['token', 'list'], { env });
    expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining('eve has the role viewer') });
    expect((await imago.run(['pool', 'list'], { env })).code).toBe(0);
  });

  test('names the token owner and the OS user in the audit', async () => {
    const { secret } = await tokenFor('ada', 'admin');
    await imago.json(['token', 'create', '--owner', 'ci', '--role', 'viewer'], {
      env: { IMAGO_TOKEN: secret },
    });
    const audit = await imago.json<{ items: { who: string; subject: string }[] }>(['audit', '--limit', '1']);
    expect(audit.items).toMatchObject([{ who: 'ada', osUser: userInfo().username, subject: 'token/ci' }]);
  });

  test('is refused if it is unknown, instead of falling back to local rights', async () => {
    const { code, err } = await imago.run(['pool', 'list'], { env: { IMAGO_TOKEN: 'imago_wrong' } });
    expect(code).toBe(4);
    expect(err).toContain('unknown, expired, or revoked');
  });

  test('also decides who can stop the daemon', async () => {
    const { secret } = await tokenFor('eve', 'viewer');
    const { pid } = (await statusOf(imago)).daemon;
    const { code, err } = await imago.run(['down'], { env: { IMAGO_TOKEN: secret } });
    expect({ code, err }).toMatchObject({ code: 4, err: expect.stringContaining('eve has the role viewer') });
    expect((await statusOf(imago)).daemon.pid).toBe(pid);
  });

  test('counts as not given if it is empty', async () => {
    expect((await imago.run(['token', 'list'], { env: { IMAGO_TOKEN: '' } })).code).toBe(0);
  });
});
