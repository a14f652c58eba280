// Several servers from one command line: contexts keep addresses, certificates, and tokens, and every command takes
// --context. Lists, formats, time limits, and help are the same for all commands, so they are shown here too.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createImago, type Finished, type Imago, recipe } from '../support/imago.ts';

let imago: Imago;
let url: string;
let token: string;
let config: Readonly<Record<string, string>>;
/** Newest first. */
let versions: readonly string[];

/** Runs without IMAGO_URL, with a configuration directory of its own. */
function run(words: readonly string[], input?: string): Promise<Finished> {
  return imago.run(words, { env: config, ...(input !== undefined && { input }) });
}

beforeAll(async () => {
  imago = await createImago();
  config = { XDG_CONFIG_HOME: join(imago.folder, 'config') };
  await imago.json(['config', 'set', 'listen', '127.0.0.1:0']);
  await imago.json(['up']);
  const status = await imago.json<{ listen: string }>(['status']);
  url = `http://${status.listen.replace(/^https?:\/\//, '')}`;
  ({ secret: token } = await imago.json<{ secret: string }>([
    ...['token', 'create', '--owner', 'ci', '--role', 'viewer'],
  ]));
  const made: string[] = [];
  for (const patch of ['24', '25', '26']) {
    await imago.writeFile('imago.yaml', recipe.replace('1.7.24', `1.7.${patch}`));
    made.push((await imago.json<{ version: string }>(['build'])).version);
  }
  versions = made.toReversed();
});

afterAll(() => imago.end());

describe('contexts', () => {
  test('a token is stored only after the server accepted it, and only its owner can read the file', async () => {
    expect((await run(['context', 'add', 'prod', '--url', url])).code).toBe(0);
    const wrong = await run(['login', 'prod', '--json'], 'imago_wrong\n');
    expect(JSON.parse(wrong.out)).toMatchObject({ error: { code: 'api-unauthenticated' } });
    const file = join(imago.folder, 'config/imago/contexts.json');
    expect(await readFile(file, 'utf8')).not.toContain('imago_wrong');

    const { out } = await run(['login', 'prod', '--json'], `${token}\n`);
    expect(JSON.parse(out)).toMatchObject({ context: 'prod', who: 'ci', role: 'viewer' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('a command uses the server of --context, then of `context use`, and `local` returns to this host', async () => {
    const who = async (words: readonly string[] = []) =>
      (JSON.parse((await run(['context', 'show', '--json', ...words])).out) as { who: string }).who;
    expect(await who()).toBe('local');
    expect(await who(['--context', 'prod'])).toBe('ci');
    await run(['context', 'use', 'prod']);
    expect(await who()).toBe('ci');
    expect(await who(['--context', 'local'])).toBe('local');
    const refused = await run(['token', 'list', '--json']);
    expect(JSON.parse(refused.out)).toMatchObject({ error: { code: 'api-role-too-small' } });
    await run(['context', 'use', 'local']);
    expect(await who()).toBe('local');
  });

  test('the list shows which context is in use, and no token', async () => {
    await run(['context', 'use', 'prod']);
    const { out } = await run(['context', 'list']);
    expect(out).toMatch(/^\* +prod/m);
    expect(out).not.toContain(token);
    await run(['context', 'use', 'local']);
  });

  test('`imago down` never stops the local daemon while another server is selected', async () => {
    const { code } = await run(['down', '--context', 'prod']);
    expect(code).toBe(2);
    expect((await imago.run(['status'])).code).toBe(0);
  });

  test('a new address loses the token of the previous one', async () => {
    await run(['context', 'add', 'moved', '--url', url]);
    await run(['login', 'moved'], token);
    await run(['context', 'add', 'moved', '--url', 'https://elsewhere.example.com']);
    const { out } = await run(['context', 'list', '--json']);
    const { items } = JSON.parse(out) as { items: { name: string; token: boolean }[] };
    expect(items.find(({ name }) => name === 'moved')?.token).toBe(false);
  });

  test('an unknown context is an error with a hint', async () => {
    const { code, out } = await run(['status', '--context', 'nope', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'context-not-found' } });
  });
});

describe('lists', () => {
  test('a list that is piped is complete, and one with --limit is a page', async () => {
    const refused = { method: 'POST', headers: { authorization: `Bearer ${token}` } };
    for (let request = 0; request < 101; request += 1) await fetch(`${url}/v1/shutdown`, refused);
    const audit = await imago.run(['audit', '-o', 'name']);
    expect(audit.out.trim().split('\n').length).toBeGreaterThan(100);
    const all = await imago.run(['image', 'list', 'node', '-o', 'name']);
    expect(all.out.trim().split('\n')).toEqual(versions.map((version) => `node:${version}`));
    const page = await imago.json<{ items: unknown[]; next: string }>([
      'image',
      'list',
      'node',
      '--limit',
      '2',
    ]);
    expect(page.items).toHaveLength(2);
    expect(page.next).toBeTruthy();
  });

  test('wide shows what the table shortens, and YAML is the JSON document', async () => {
    const { items } = await imago.json<{ items: { digest: string }[] }>(['image', 'list', 'node']);
    const wide = await imago.run(['image', 'list', 'node', '-o', 'wide']);
    expect(wide.out).toContain(items[0]?.digest);
    const yaml = await imago.run(['image', 'list', 'node', '-o', 'yaml']);
    expect(parse(yaml.out)).toMatchObject({ items });
    const error = await imago.run(['image', 'show', 'nope', '-o', 'yaml']);
    expect(parse(error.out)).toMatchObject({ error: { code: 'image-not-found' } });
  });

  test('--watch prints what is new, and ends with --timeout', async () => {
    const watching = imago.start(['op', 'list', '--watch', '-o', 'name']);
    let seen = '';
    watching.child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
    });
    await expect.poll(() => seen).toMatch(/^[0-9a-f-]{36}\n/);
    const { operation } = await imago.json<{ operation: string }>(['test', `node:${versions[0]}`]);
    await expect.poll(() => seen).toContain(operation);
    watching.child.kill('SIGINT');
    expect((await watching.finished).code).toBe(0);
    const ended = await imago.run(['op', 'list', '--watch', '--timeout', '1s', '--quiet', '--json']);
    expect(ended.code).toBe(5);
    expect(ended.out).toContain('command-timeout');
  });

  test('an operation is found by the first characters of its id', async () => {
    const { items } = await imago.json<{ items: { id: string }[] }>(['op', 'list']);
    const id = items[0]?.id ?? '';
    expect((await imago.run(['op', 'list'])).out).toContain(`${id.slice(0, 8)} `);
    expect(await imago.json(['op', 'show', id.slice(0, 8)])).toMatchObject({ id });
    expect((await imago.run(['op', 'watch', id.slice(0, 8)])).code).toBe(0);
    expect((await imago.run(['op', 'show', 'ffff0000'])).code).toBe(3);
  });

  test('completion offers the channels and versions of an image', async () => {
    const { out } = await imago.run(['__complete', '--', 'image', 'show', 'node:']);
    expect(out.split('\n')).toEqual(
      expect.arrayContaining(['node:staging', ...versions.map((v) => `node:${v}`)]),
    );
  });
});

test('a waiting command ends with --timeout, and its operation continues', async () => {
  await imago.json(['pool', 'create', 'slow', '--image', `node:${versions[0]}`, '--nodes', '1']);
  await imago.json(['sim', 'fault', 'add', 'pools.setCapacity', 'hangs', '--count', '100']);
  const words = ['pool', 'scale', 'slow', '--nodes', '2', '--timeout', '3s', '--json'];
  const { code, out } = await imago.run(words);
  expect(code).toBe(5);
  const { error } = JSON.parse(out) as { error: { code: string; message: string } };
  expect(error.code).toBe('command-timeout');
  const id = /Operation (\S+) continues/.exec(error.message)?.[1] ?? '';
  expect(await imago.json(['op', 'show', id])).toMatchObject({
    state: expect.stringMatching(/running|queued|waiting/),
  });
  await imago.run(['op', 'cancel', id]);
});

test('help and explain', async () => {
  const help = await imago.run(['help', 'image', 'list']);
  expect(help.out).toBe((await imago.run(['image', 'list', '--help'])).out);
  expect((await imago.run(['help', 'imgae'])).code).toBe(2);
  const disk = await imago.run(['explain', 'recipe.disk']);
  expect(disk.out).toMatch(/^recipe\.disk <object>/);
  expect(disk.out).toMatch(/^ {2}sizeMb|^ {2}size/m);
  const wrong = await imago.run(['explain', 'recipe.dsk']);
  expect(wrong.code).toBe(2);
  expect(wrong.err).toContain('disk');
  for (const kind of ['policy', 'node-config'])
    expect((await imago.run(['explain', kind])).out).toContain('Fields:');
});
