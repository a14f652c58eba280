// The daemon's settings survive the daemon, and a command that only reads starts nothing where there is nothing to read.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { daemonFile, processOf, statusOf, untilGone } from '../support/daemon.ts';
import { createImago, type Imago } from '../support/imago.ts';

interface Setting {
  readonly name: string;
  readonly value?: string | number;
  readonly pending?: boolean;
}

let imago: Imago;

beforeEach(async () => {
  imago = await createImago();
});
afterEach(() => imago.end());

async function settings(): Promise<Record<string, string | number | undefined>> {
  const { items } = await imago.json<{ items: Setting[] }>(['config', 'list']);
  return Object.fromEntries(
    items.filter(({ value }) => value !== undefined).map((one) => [one.name, one.value]),
  );
}

const effective = async () =>
  ((await statusOf(imago)) as unknown as { settings: Record<string, unknown> }).settings;

describe('flags of `imago up`', () => {
  test('are settings that a killed daemon comes back with', async () => {
    await imago.json(['up', '--listen', '127.0.0.1:0', '--provider', 'local', '--time-scale', '7']);
    const kept = { listen: '127.0.0.1:0', provider: 'local', 'time-scale': 7 };
    expect(await effective()).toMatchObject(kept);
    const daemon = processOf((await statusOf(imago)).daemon.pid);
    process.kill(daemon.pid, 'SIGKILL');
    await untilGone(daemon);
    await imago.json(['pool', 'list']);
    expect(await effective()).toMatchObject(kept);
    expect((await statusOf(imago)).listen).toMatch(/^127\.0\.0\.1:[1-9]/);
    expect((await imago.run(['status'])).out).toMatch(/^settings +.*provider=local/m);
  });

  test('are not kept if the daemon cannot start with them', async () => {
    await imago.json(['up', '--listen', '127.0.0.1:0']);
    const { listen = '' } = await statusOf(imago);
    const other = await createImago();
    try {
      expect((await other.run(['up', '--listen', listen])).code).toBe(2);
      expect((await other.run(['up'])).code).toBe(0);
      expect((await statusOf(other)).listen).toBeUndefined();
    } finally {
      await other.end();
    }
  });
});

describe('imago config', () => {
  test('sets, gets, and unsets without a daemon, and starts none', async () => {
    expect(await imago.json(['config', 'set', 'keep-logs', '30'])).toMatchObject({ value: 30 });
    expect((await imago.run(['config', 'get', 'keep-logs', '-o', 'name'])).out).toBe('30\n');
    expect(await settings()).toEqual({ 'keep-logs': 30 });
    await imago.json(['config', 'unset', 'keep-logs']);
    expect(await settings()).toEqual({});
    expect(existsSync(join(imago.home, 'postgres'))).toBe(false);
    expect(daemonFile(imago.home)).toBeUndefined();
  });

  test('asks the daemon if one runs: audited, limited to admins, and effective after a restart', async () => {
    await imago.json(['up']);
    await imago.json(['config', 'set', 'listen', '127.0.0.1:0']);
    const audit = await imago.json<{ items: object[] }>(['audit', '--limit', '1']);
    expect(audit.items).toMatchObject([{ who: 'local', what: 'setSetting', subject: 'setting/listen' }]);
    expect(await imago.json(['config', 'get', 'listen'])).toMatchObject({ pending: true });
    const { secret } = await imago.json<{ secret: string }>([
      'token',
      'create',
      '--owner',
      'eve',
      '--role',
      'publisher',
    ]);
    const env = { IMAGO_TOKEN: secret };
    expect((await imago.run(['config', 'set', 'provider', 'sim'], { env })).code).toBe(4);
    await imago.json(['down']);
    await imago.json(['up']);
    expect((await statusOf(imago)).listen).toMatch(/^127\.0\.0\.1:[1-9]/);
    expect(await imago.json<Setting>(['config', 'get', 'listen'])).not.toHaveProperty('pending');
  });

  const wrong = [
    { words: ['set', 'lisen', 'x'], message: /lisen/, hint: /listen/ },
    { words: ['set', 'listen', 'x'], message: /listen/, hint: /HOST:PORT/ },
    { words: ['set', 'keep-logs', '3'], message: /keep-logs/, hint: /7/ },
    { words: ['set', 'tls-key', '/k.pem'], message: /tls-key/, hint: /tls-cert/ },
    { words: ['get', 'nothing'], message: /nothing/, hint: /./ },
  ];
  test.each(['without', 'with'])('refuses a wrong name or value with a hint, %s a daemon', async (how) => {
    if (how === 'with') await imago.json(['up']);
    for (const { words, message, hint } of wrong) {
      const { code, err } = await imago.run(['config', ...words]);
      expect(code).toBe(2);
      expect(err).toMatch(message);
      expect(/^hint: (.*)$/m.exec(err)?.[1]).toMatch(hint);
    }
  });

  test('a dry run changes nothing', async () => {
    await imago.run(['config', 'set', 'provider', 'local', '--dry-run']);
    expect(await settings()).toEqual({});
    expect(existsSync(imago.home)).toBe(false);
  });
});

describe('a command that only reads, on an empty home', () => {
  test('starts nothing and reports it', async () => {
    for (const words of [
      ['pool', 'list'],
      ['image', 'show', 'node:1.0.0'],
      ['op', 'list'],
      ['token', 'list'],
    ]) {
      const { code, out, err } = await imago.run(words);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^error: .*nothing was started/m);
      expect(err).toMatch(/^hint: .*imago up/m);
      expect(existsSync(imago.home)).toBe(false);
    }
  });

  test('doctor examines the host without a daemon', async () => {
    expect((await imago.run(['doctor'])).code).toBe(0);
    expect(daemonFile(imago.home)).toBeUndefined();
  });

  test('starts the daemon as before if the home holds data', async () => {
    await imago.json(['up']);
    await imago.json(['down']);
    expect(await imago.json(['pool', 'list'])).toMatchObject({ items: [] });
  });
});
