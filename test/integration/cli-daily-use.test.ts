// Answers that a person acts on: none is wrong, none calls the person's mistake a bug, and what cannot work is refused
// before it is recorded.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHookReceiver } from '../support/hook-receiver.ts';
import { collect, createImago, type Imago, recipe } from '../support/imago.ts';

let imago: Imago;
let first: string;
let second: string;

async function release(text: string): Promise<string> {
  await imago.writeFile('imago.yaml', text);
  const { version } = await imago.json<{ version: string }>(['build']);
  await imago.json(['test', `node:${version}`]);
  return version;
}

beforeAll(async () => {
  imago = await createImago();
  // What a crash can leave of a key that was just created: the daemon starts all the same.
  await mkdir(imago.home, { mode: 0o700 });
  await writeFile(join(imago.home, 'webhook.key'), '');
  first = await release(recipe);
  second = await release(recipe.replace('1.7.24', '1.7.25'));
  await imago.json(['channel', 'promote', `node:${first}`, '--to', 'production', '--reason', 'first']);
  await imago.json(['pool', 'create', 'web', '--image', 'node:production', '--nodes', '1']);
});

afterAll(() => imago.end());

interface Refusal {
  readonly code: number;
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

async function refused(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Refusal> {
  const { code, out } = await imago.run([...words, '--json'], { env });
  return { code, ...(JSON.parse(out) as Pick<Refusal, 'error'>) };
}

describe('what a pool lacks', () => {
  test('names the newer versions of a pool on an older one', async () => {
    const { out } = await imago.run(['pool', 'show', 'web']);
    expect(out).toContain(`0 days: 1 version is newer, the latest is ${second}`);
  });

  test('never calls a withdrawn version the newest', async () => {
    await imago.json(['pool', 'create', 'broken', '--image', `node:${second}`, '--nodes', '1']);
    await imago.json(['image', 'withdraw', `node:${second}`, '--reason', 'broken', '--yes']);
    const { out } = await imago.run(['pool', 'show', 'broken']);
    expect(out).toContain(`its version is not available: the newest available version is ${first}`);
    await imago.json(['image', 'restore', `node:${second}`, '--reason', 'it was the switch']);
  });
});

describe('refusals', () => {
  const staleNumbering = recipe.replace('calendar', 'semver');

  test('a recipe whose numbering differs from that of the image is refused', async () => {
    await imago.writeFile('semver.yaml', staleNumbering);
    for (const words of [
      ['build', 'semver.yaml'],
      ['build', 'semver.yaml', '--dry-run'],
    ]) {
      const { code, error } = await refused(words);
      expect({ exit: code, code: error?.code }).toEqual({ exit: 2, code: 'input-invalid' });
      expect(error.hint).toContain('numbering: calendar');
    }
  });

  test('a time in the future is refused', async () => {
    const { code, error } = await refused(['resolve', 'node:production', '--at', '2999-01-01']);
    expect(code).toBe(2);
    expect(error.message).toContain('in the future');
  });

  test('`imago down` never stops the local daemon on behalf of a remote one', async () => {
    const env = { IMAGO_URL: 'https://imago.example.com:7443', IMAGO_TOKEN: 'x' };
    const { code, error } = await refused(['down'], env);
    expect(code).toBe(2);
    expect(error.hint).toContain('IMAGO_URL');
    expect((await imago.json<{ daemon: { pid: number } }>(['status'])).daemon.pid).toBeGreaterThan(0);
  });

  test('a dry run refuses a rollback of `latest` as the run does', async () => {
    const words = ['channel', 'rollback', 'node:latest', '--reason', 'x'];
    const [dry, real] = [
      await refused([...words, '--dry-run']),
      await refused([...words, '--yes', '--expect', second]),
    ];
    expect(dry.error.code).toBe('channel-managed');
    expect(real.error.code).toBe('channel-managed');
  });

  test('--expect fails if the channel is elsewhere, even if it already is at the target', async () => {
    const words = ['channel', 'promote', `node:${first}`, '--to', 'production', '--reason', 'again'];
    expect((await refused([...words, '--expect', second])).error.code).toBe('channel-moved');
    expect((await imago.run([...words, '--expect', first])).code).toBe(0);
  });

  const refusals: readonly (readonly [string, readonly string[], number, string])[] = [
    [
      'a product that has no support dates',
      ['support', 'set', 'foo', '1', '--ends', '2027-01-01'],
      2,
      'input-invalid',
    ],
    [
      'a gallery for a channel that no image has',
      ['gallery', 'add', 'g', '--provider', 'sim', '--place', 'g', '--channel', 'nope'],
      3,
      'channel-not-found',
    ],
    [
      'a schedule that never occurs',
      [
        'schedule',
        'create',
        'never',
        '--cron',
        '0 3 31 2 *',
        '--kind',
        'prune',
        '--subject',
        'catalog',
        '--input',
        '{}',
      ],
      2,
      'input-invalid',
    ],
    ['a fault of an unknown call', ['sim', 'fault', 'add', 'pools.setModle', 'fails'], 2, 'input-invalid'],
    [
      'a backup into a directory that does not exist',
      ['backup', '/nowhere/imago.backup'],
      2,
      'file-unwritable',
    ],
    [
      'a catalog in a directory that cannot be created',
      ['catalog', 'export', '/proc/self/catalog'],
      2,
      'file-unwritable',
    ],
  ];

  test.each(refusals)('%s is refused', async (_what, words, exit, expected) => {
    const { code, error } = await refused(words);
    expect({ exit: code, code: error.code }).toEqual({ exit, code: expected });
    expect(error.hint).toBeTruthy();
  });

  test('an event that a webhook never delivered cannot be sent again', async () => {
    await imago.json([
      'webhook',
      'create',
      'hook',
      '--url',
      'http://127.0.0.1:1/',
      '--event',
      'channel.moved',
      '--allow-private',
    ]);
    const { code, error } = await refused(['webhook', 'resend', 'hook', '--event', '999999']);
    expect({ exit: code, code: error.code }).toEqual({ exit: 3, code: 'event-not-found' });
  });

  test('an address without a scheme is wrong input, not a bug', async () => {
    const { code, error } = await refused(['status'], { IMAGO_URL: 'localhost:7443', IMAGO_TOKEN: 'x' });
    expect(code).toBe(2);
    expect(error.hint).toContain('https://');
  });
});

test('doctor exits with 1 if something is missing', async () => {
  const { code, out } = await imago.run(['doctor', '--json']);
  expect(code).toBe((JSON.parse(out) as { ok: boolean }).ok ? 0 : 1);
});

test('an empty webhook key is replaced, and the file is kept', () => {
  expect(existsSync(join(imago.home, 'webhook.key.invalid'))).toBe(true);
});

test('a pool from a candidate is created with a warning', async () => {
  await imago.writeFile('imago.yaml', recipe.replace('1.7.24', '1.7.26'));
  const { version } = await imago.json<{ version: string }>(['build']);
  const { code, err } = await imago.run([
    'pool',
    'create',
    'early',
    '--image',
    `node:${version}`,
    '--nodes',
    '1',
  ]);
  expect(code).toBe(0);
  expect(err).toContain(`warning: node:${version} is a candidate: it has not passed its tests.`);
});

test('a full standard output is one error, without a stack trace', async () => {
  const launcher = resolve(import.meta.dirname, '../../bin/imago');
  for (const words of ['image list node', 'status --help', 'completion bash']) {
    const child = spawn('sh', ['-c', `exec '${launcher}' ${words} > /dev/full`], {
      env: { ...process.env, IMAGO_HOME: imago.home, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, err } = await collect(child);
    expect(code).not.toBe(0);
    expect(err).toMatch(/^error: The output cannot be written: ENOSPC/);
    expect(err).not.toContain('    at ');
  }
});

test('a queued command and `op show` name the operation that they wait for', async () => {
  await imago.json(['sim', 'fault', 'add', 'pools.setCapacity', 'hangs', '--count', '100']);
  const holder = await imago.json<{ id: string }>(['pool', 'scale', 'web', '--nodes', '2', '--no-wait']);
  const queued = await imago.json<{ id: string }>(['pool', 'scale', 'web', '--nodes', '3', '--no-wait']);
  const { out } = await imago.run(['op', 'show', queued.id]);
  expect(out).toMatch(new RegExp(`waits for +operation ${holder.id} \\(pool-scale of pool/web\\)`));
  const { child, finished } = imago.start(['op', 'watch', queued.id]);
  let seen = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
  });
  await expect.poll(() => seen, { timeout: 60_000 }).toContain(`Queued behind operation ${holder.id}`);
  for (const { id } of [queued, holder]) await imago.run(['op', 'cancel', id]);
  await finished;
});

/** Operations that fail at once: a candidate cannot be promoted to production. */
async function failToPromote(): Promise<void> {
  await imago.writeFile('early.yaml', recipe.replace('1.7.24', '1.7.26'));
  const { version } = await imago.json<{ version: string }>(['build', 'early.yaml']);
  const words = ['channel', 'promote', `node:${version}`, '--to', 'production', '--reason', 'too early'];
  expect((await imago.run(words)).code).toBe(4);
}

test('`imago webhook test` waits for the receiver, which gets failed operations too if it asks for them', async () => {
  const receiver = await startHookReceiver();
  try {
    await imago.json([
      ...[
        'webhook',
        'create',
        'ops',
        '--url',
        receiver.url,
        '--event',
        'operation.failed',
        '--allow-private',
      ],
    ]);
    const tested = await imago.run(['webhook', 'test', 'ops']);
    expect(tested).toMatchObject({ code: 0 });
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ type: 'imago.webhook.test' });
    await failToPromote();
    await receiver.until(2);
    expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
      type: 'imago.operation.failed',
      data: { kind: 'promote', subject: 'image/node', by: 'local', message: expect.any(String) },
    });
  } finally {
    await receiver.close();
  }
  // Nothing listens there any more.
  const { code, error } = await refused(['webhook', 'test', 'ops']);
  expect({ exit: code, code: error.code }).toEqual({ exit: 5, code: 'webhook-unanswered' });
});

test('`imago changes` lists moves, withdrawals, failures, and settings, with who and why', async () => {
  interface Item {
    readonly kind: string;
    readonly subject: string;
    readonly what: string;
    readonly by?: string;
    readonly why?: string;
  }
  await failToPromote();
  const { items } = await imago.json<{ items: Item[] }>(['changes', '--since', '1h']);
  const found = (kind: string) => items.filter((item) => item.kind === kind);
  expect(found('channel')).toContainEqual(
    expect.objectContaining({ what: `production: empty to ${first}`, by: 'local', why: 'first' }),
  );
  expect(found('withdrawal').map(({ what, why }) => [what, why])).toEqual([
    [`${second} restored`, 'it was the switch'],
    [`${second} withdrawn`, 'broken'],
  ]);
  expect(found('nodes').map(({ subject }) => subject)).toContain('pool/web');
  const [failed] = found('operation').filter(({ what }) => what === 'promote failed');
  expect(failed).toMatchObject({ subject: 'image/node', by: 'local' });
  expect(failed?.why).toBeTruthy();
  expect(found('setting').map(({ what }) => what)).toContain('create webhook');
  const [page] = [await imago.json<{ items: Item[]; next: string }>(['changes', '--limit', '2'])];
  const rest = await imago.json<{ items: Item[] }>(['changes', '--limit', '2', '--cursor', page.next]);
  expect([...page.items, ...rest.items]).toEqual(items.slice(0, 4));
  expect((await refused(['changes', '--since', 'soon'])).code).toBe(2);
});
