// The eight stories, from their first command to their last, as the pages tell them; after each, what must be so.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CatalogDocument } from '../../src/domain/public-catalog/catalog.ts';
import { collect, createImago, type Imago } from '../support/imago.ts';

const root = resolve(import.meta.dirname, '../..');
const stories = join(root, 'docs/how-to/stories');

interface Node {
  readonly name: string;
  readonly pool: string;
  readonly version: string;
}

let imago: Imago;
let teamUrl: string;

beforeAll(async () => {
  imago = await createImago();
  await imago.run(['up', '--listen', '127.0.0.1:0']);
  teamUrl = `http://${(await imago.json<{ listen: string }>(['status'])).listen}`;
});
afterAll(() => imago.end());

/** Runs the commands of a page as a reader types them, and gives what they printed. */
async function tell(story: string): Promise<string> {
  const text = await readFile(join(stories, `${story}.md`), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  expect(blocks.length).toBeGreaterThan(0);
  let printed = '';
  for (const block of blocks) {
    const child = spawn('sh', ['-eu', '-c', block], {
      cwd: imago.folder,
      env: {
        ...process.env,
        PATH: `${join(root, 'bin')}:${process.env.PATH}`,
        ...{ IMAGO_HOME: imago.home, IMAGO_PROVIDER: 'sim', NO_COLOR: '1', TEAM_URL: teamUrl },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const finished = await collect(child);
    expect(finished.code, `${block}${finished.out}${finished.err}`).toBe(0);
    printed += finished.out;
  }
  return printed;
}

async function channel(name: string): Promise<string> {
  return (await imago.json<{ version: string }>(['resolve', `node:${name}`])).version;
}

async function nodes(): Promise<readonly Node[]> {
  return (await imago.json<{ items: readonly Node[] }>(['node', 'list'])).items;
}

function versionsOf(all: readonly Node[], pool: string): readonly string[] {
  return [...new Set(all.filter((node) => node.pool === pool).map(({ version }) => version))];
}

async function modelOf(pool: string): Promise<string> {
  return (await imago.json<{ version: string }>(['pool', 'show', pool])).version;
}

/** Pools follow a moment after the channel has moved. */
async function untilModel(pool: string, version: string): Promise<void> {
  await expect.poll(() => modelOf(pool), { interval: 250 }).toBe(version);
}

const versions = { first: '', second: '', third: '' };

test('story 1: production comes from another gallery, and no node of an existing pool is rolled by it', async () => {
  await tell('1-upgrade-without-moving-nodes');
  const { items } = await imago.json<{ items: readonly { version: string }[] }>(['image', 'list', 'node']);
  [versions.second = '', versions.first = ''] = items.map(({ version }) => version);
  const now = await nodes();
  expect(versionsOf(now, 'web')).toEqual([versions.first]);
  expect(versionsOf(now, 'calm')).toEqual([versions.first]);
  await untilModel('web', versions.second);
  expect(await modelOf('calm')).toBe(versions.first);
});

test('story 2: a developer finds what is available, by pages and by one question', async () => {
  const printed = await tell('2-find-an-image');
  expect(printed).toContain(versions.second);
  const text = await readFile(join(imago.folder, 'site/catalog.json'), 'utf8');
  const [image] = (JSON.parse(text) as CatalogDocument).images;
  expect(image?.versions[0]).toMatchObject({
    ...{ version: versions.second, state: 'available', channels: ['latest', 'production'] },
    places: [{ gallery: 'public', regions: ['eastus', 'northeurope', 'westeurope'] }],
  });
});

test('story 3: a new one is staged, tested, approved by two others, and promoted in every region', async () => {
  const printed = await tell('3-publish-a-new-image');
  expect(printed).toContain('✗ approvals');
  versions.third = await channel('production');
  expect(versions.third).not.toBe(versions.second);
  expect(await channel('staging')).toBe(versions.third);
  const evidence = await imago.json<{ evidence: readonly { kind: string; by: string }[] }>([
    ...['image', 'show', 'node:production'],
  ]);
  expect(evidence.evidence.filter(({ kind }) => kind === 'approval').map(({ by }) => by)).toEqual(
    expect.arrayContaining(['bob', 'cid']),
  );
  for (const region of ['westeurope', 'eastus', 'northeurope']) {
    const found = await imago.json(['resolve', 'node:production', '--region', region]);
    expect(found).toMatchObject({ version: versions.third, region });
  }
});

test('story 4: a broken one is out in one command, and no node is left on it', async () => {
  await untilModel('web', versions.third);
  await imago.json(['pool', 'scale', 'web', '--nodes', '3']);
  expect(versionsOf(await nodes(), 'web')).toContain(versions.third);
  await tell('4-a-broken-image');
  expect(await channel('production')).toBe(versions.second);
  expect(await modelOf('web')).toBe(versions.second);
  expect((await nodes()).filter(({ version }) => version === versions.third)).toEqual([]);
  const refused = await imago.run([
    'pool',
    'create',
    'new',
    '--image',
    `node:${versions.third}`,
    '--nodes',
    '1',
  ]);
  expect(refused.code).toBe(4);
});

test('story 5: one goes out of support: deprecated after the day, never deleted while it is used', async () => {
  await tell('5-end-of-support');
  // The first look at dates comes soon after a start.
  await imago.run(['down']);
  await imago.run(['up', '--listen', '127.0.0.1:0']);
  teamUrl = `http://${(await imago.json<{ listen: string }>(['status'])).listen}`;
  const shown = async () =>
    imago.json<{ state: string; reason?: string }>(['image', 'show', `node:${versions.second}`]);
  await expect
    .poll(shown, { interval: 500 })
    .toMatchObject({ state: 'deprecated', reason: expect.stringContaining('2026-01-31') });
  expect(await channel('production')).toBe(versions.second);
});

test('story 6: a hotfix is on nodes at once, and the next version has it', async () => {
  await tell('6-a-zero-day');
  await untilModel('web', await channel('production'));
  const pool = await imago.json<{ nodeConfig: string; version: string }>(['pool', 'show', 'web']);
  expect(JSON.parse(pool.nodeConfig)).toMatchObject({ hotfixes: [{ component: 'runc', version: '1.2.9' }] });
  expect(pool.version).toBe(await channel('production'));
  expect(pool.version).not.toBe(versions.second);
});

test('story 7: which latest was it? Answered when pool and node are gone', async () => {
  const before = await imago.json<{ version: string; move: number }>(['node', 'which', 'web-000000']);
  expect(before).toMatchObject({ channel: 'production', reference: 'node:production' });
  const printed = await tell('7-which-latest');
  expect(printed).toContain('the first');
  expect(await imago.json(['node', 'which', 'web-000000'])).toMatchObject({
    ...{ version: before.version, move: before.move, reference: 'node:production' },
  });
});

test('story 8: limits are shown, what nothing needs goes, and what is needed stays', async () => {
  const printed = await tell('8-the-cap-is-near');
  expect(printed).toMatch(/versions/);
  const { items } = await imago.json<{ items: readonly { version: string; state: string }[] }>([
    ...['image', 'list', 'node'],
  ]);
  const state = new Map(items.map((item) => [item.version, item.state]));
  expect(state.get(await channel('production'))).toBe('available');
  expect(state.get(versions.first), 'pool calm runs it').not.toBe('deleted');
  expect(state.get(versions.third), 'nothing needs it').toBe('deleted');
});
