// Each mistake gets one clear sentence, a hint and the right exit code, and changes nothing.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';

let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
  await imago.writeFile('imago.yaml', recipe);
  await imago.writeFile('twice.yaml', `${recipe}name: again\n`);
  await imago.writeFile('unknown.yaml', `${recipe}kubernets: 1.34.2\n`);
  await imago.writeFile('broken.yaml', 'name: [node\n');
  await imago.json(['build']);
});

afterAll(() => imago.end());

async function world(): Promise<unknown> {
  const lists = [
    ['image', 'list'],
    ['image', 'list', 'node'],
    ['pool', 'list'],
    ['op', 'list'],
    ['token', 'list'],
  ];
  return Promise.all(lists.map((words) => imago.json(words)));
}

interface Case {
  readonly what: string;
  readonly words: readonly string[];
  readonly code: number;
  readonly message: RegExp;
  readonly hint?: RegExp;
}

const cases: readonly Case[] = [
  {
    what: 'unknown verb',
    words: ['pol'],
    code: 2,
    message: /Unknown command: imago pol/,
    hint: /imago pool/,
  },
  {
    what: 'unknown verb in a group',
    words: ['pool', 'crate'],
    code: 2,
    message: /pool crate/,
    hint: /pool create/,
  },
  {
    what: 'unknown flag',
    words: ['status', '--jsn'],
    code: 2,
    message: /Unknown flag --jsn/,
    hint: /--json/,
  },
  { what: 'missing argument', words: ['image', 'show'], code: 2, message: /is missing/, hint: /--help/ },
  {
    what: 'neither an image nor what to choose it by',
    words: ['resolve'],
    code: 2,
    message: /image is missing/,
    hint: /--kubernetes VERSION/,
  },
  { what: 'malformed reference', words: ['resolve', 'node:1.2'], code: 2, message: /1\.2/, hint: /./ },
  {
    what: 'reference with a shell in it',
    words: ['resolve', 'node:$(id)'],
    code: 2,
    message: /node/,
    hint: /./,
  },
  { what: 'unknown image', words: ['resolve', 'nod:1.2.3'], code: 3, message: /nod/, hint: /node/ },
  { what: 'unknown version', words: ['resolve', 'node:1.2.3'], code: 3, message: /1\.2\.3/, hint: /./ },
  {
    what: 'unknown channel',
    words: ['resolve', 'node:prodution'],
    code: 3,
    message: /prodution/,
    hint: /production/,
  },
  { what: 'empty channel', words: ['resolve', 'node:production'], code: 3, message: /production/, hint: /./ },
  {
    what: 'missing file',
    words: ['build', 'no.yaml'],
    code: 2,
    message: /File no\.yaml not found/,
    hint: /imago init/,
  },
  { what: 'a folder as a file', words: ['build', '.'], code: 2, message: /Cannot read/, hint: /./ },
  {
    what: 'YAML with a duplicate key',
    words: ['build', 'twice.yaml'],
    code: 2,
    message: /twice\.yaml:\d+:\d+.*name/s,
    hint: /./,
  },
  {
    what: 'YAML that is cut off',
    words: ['build', 'broken.yaml'],
    code: 2,
    message: /broken\.yaml:\d+:\d+/,
    hint: /./,
  },
  {
    what: 'a field that does not exist',
    words: ['build', 'unknown.yaml'],
    code: 2,
    message: /unknown\.yaml:\d+:\d+.*kubernets/s,
    hint: /kubernetes/,
  },
  {
    what: 'not a number',
    words: ['pool', 'create', 'a', '--image', 'node:staging', '--nodes', 'three'],
    code: 2,
    message: /--nodes/,
    hint: /./,
  },
  {
    what: 'too many nodes',
    words: ['pool', 'create', 'a', '--image', 'node:staging', '--nodes', '999999'],
    code: 2,
    message: /./,
    hint: /./,
  },
  {
    what: 'a bare name where nodes start',
    words: ['pool', 'create', 'a', '--image', 'node', '--nodes', '1'],
    code: 2,
    message: /node/,
    hint: /node:/,
  },
  {
    what: 'a pool name that no cloud takes',
    words: ['pool', 'create', 'A_b', '--image', 'node:staging', '--nodes', '1'],
    code: 2,
    message: /A_b/,
    hint: /./,
  },
  {
    what: 'unknown pool',
    words: ['pool', 'scale', 'web', '--nodes', '2'],
    code: 3,
    message: /web/,
    hint: /./,
  },
  { what: 'unknown node', words: ['node', 'which', 'web-000000'], code: 3, message: /web-000000/, hint: /./ },
  { what: 'unknown operation', words: ['op', 'cancel', 'nothing'], code: 3, message: /nothing/, hint: /./ },
  {
    what: 'managed channel',
    words: ['channel', 'promote', 'node:latest', '--to', 'latest', '--reason', 'x'],
    code: 3,
    message: /latest/,
    hint: /./,
  },
  {
    what: 'an empty reason',
    words: ['channel', 'promote', 'node:staging', '--to', 'staging', '--reason', ''],
    code: 2,
    message: /why/,
    hint: /./,
  },
  {
    what: 'a cursor that is none',
    words: ['pool', 'list', '--cursor', 'x'],
    code: 2,
    message: /cursor/i,
    hint: /./,
  },
  {
    what: 'a limit out of range',
    words: ['pool', 'list', '--limit', '0'],
    code: 2,
    message: /--limit/,
    hint: /./,
  },
  { what: 'unknown provider', words: ['build', '--provider', 'aws'], code: 2, message: /aws/, hint: /./ },
];

describe('bad input', () => {
  test('each: one sentence, a hint, the right exit code, as JSON too, and nothing changes', async () => {
    const before = await world();
    const wrong: string[] = [];
    for (const { what, words, code, message, hint } of cases) {
      const plain = await imago.run(words);
      const json = await imago.run([...words, '--json']);
      const sentence = /^error: (.*)$/m.exec(plain.err)?.[1] ?? '';
      if (plain.code !== code || json.code !== code)
        wrong.push(`${what}: exit ${plain.code}/${json.code}, not ${code}: ${plain.err}`);
      if (!message.test(plain.err)) wrong.push(`${what}: the message is ${JSON.stringify(plain.err)}`);
      if (hint !== undefined && !hint.test(/^hint: (.*)/ms.exec(plain.err)?.[1] ?? ''))
        wrong.push(`${what}: the hint is ${plain.err}`);
      if (plain.out !== '') wrong.push(`${what}: prints ${plain.out} on standard output`);
      const { error } = JSON.parse(json.out) as { error: { code: string; message: string } };
      if (error.code === 'internal' || !error.message.startsWith(sentence))
        wrong.push(`${what}: JSON says ${json.out}`);
      if (/\bat .*\.ts:\d+/.test(plain.err)) wrong.push(`${what}: shows a stack`);
    }
    expect(wrong).toEqual([]);
    expect(await world()).toEqual(before);
  });
});

describe('a state folder that cannot be used', () => {
  test('one that is a file', async () => {
    const file = await imago.writeFile('not-a-folder', '');
    const { code, err } = await imago.run(['up'], { env: { IMAGO_HOME: file } });
    expect(code).toBeGreaterThan(0);
    expect(code).not.toBe(70);
    expect(err).toMatch(/^error: .*not-a-folder/m);
    expect(err).toMatch(/^hint: /m);
  });
});

test('a damaged backup changes nothing', async () => {
  const other = await createImago();
  try {
    const file = await other.writeFile('cut.backup', '{"imago":');
    const { code, err } = await other.run(['restore', file]);
    expect(code).toBe(2);
    expect(err).toMatch(/^error: .*backup/m);
    expect(err).toMatch(/^hint: /m);
    expect(await other.json(['op', 'list'])).toMatchObject({ items: [] });
  } finally {
    await other.end();
  }
});

test('status says that nothing runs, and starts nothing', async () => {
  const other = await createImago();
  try {
    const { code, err } = await other.run(['status']);
    expect(code).toBe(1);
    expect(err).toMatch(/No daemon is running/);
    expect((await other.run(['down'])).out).toMatch(/Nothing was running/);
  } finally {
    await other.end();
  }
});
