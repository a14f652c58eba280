import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';

interface Built {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
}

interface List<T> {
  readonly items: readonly T[];
}

let imago: Imago;
let built: Built;

beforeAll(async () => {
  imago = await createImago();
  await imago.writeFile('imago.yaml', recipe);
});

afterAll(() => imago.end());

describe('from a recipe to nodes that know what they were made from', () => {
  test('a recipe becomes a candidate, and the same recipe gives the same version back', async () => {
    built = await imago.json<Built>(['build']);
    expect(built).toMatchObject({ image: 'node', reused: false });
    expect(built.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const { image, version, digest } = built;
    expect(await imago.json<Built>(['build'])).toMatchObject({ image, version, digest, reused: true });
  });

  test('what is only simulated is said to be, to people and to scripts', async () => {
    expect(await imago.json(['build'])).toMatchObject({ simulated: true });
    expect((await imago.run(['build'])).out).toContain('this build was simulated: it has no disk');
  });

  test('rule 4: an untested version cannot reach production, whoever asks', async () => {
    const promote = [
      'channel',
      'promote',
      `node:${built.version}`,
      '--to',
      'production',
      '--reason',
      'hurry',
    ];
    const refused = await imago.run(promote);
    expect(refused.code).toBe(4);
    expect(refused.err).toMatch(/imago test/);
    const channels = await imago.json<List<{ name: string; version?: string }>>(['channel', 'list', 'node']);
    expect(channels.items.find(({ name }) => name === 'production')?.version).toBeUndefined();
  });

  test('its tests pass on fresh machines, and it becomes available with the evidence', async () => {
    const reference = `node:${built.version}`;
    expect(await imago.json(['test', reference])).toMatchObject({ passed: true, digest: built.digest });
    const shown = await imago.json<{ state: string; evidence: { passed: boolean; digest: string }[] }>([
      'image',
      'show',
      reference,
    ]);
    expect(shown.state).toBe('available');
    expect(shown.evidence).toMatchObject([{ passed: true, digest: built.digest }]);
  });

  test('staging, then production; every move is kept', async () => {
    await imago.json([
      'channel',
      'promote',
      `node:${built.version}`,
      '--to',
      'staging',
      '--reason',
      'weekly',
    ]);
    await imago.json([
      'channel',
      'promote',
      'node:staging',
      '--to',
      'production',
      '--reason',
      'a week in staging',
    ]);
    const moves = await imago.json<List<{ channel: string; to: string; why: string }>>([
      'channel',
      'history',
      'node',
    ]);
    expect(moves.items.map(({ channel }) => channel)).toEqual(['production', 'staging', 'latest']);
  });

  test('rule 6: each node of the pool answers which version, digest, reference and move', async () => {
    await imago.json(['pool', 'create', 'web', '--image', 'node:production', '--nodes', '3']);
    const nodes = await imago.json<List<Record<string, unknown>>>(['node', 'list', '--pool', 'web']);
    expect(nodes.items).toHaveLength(3);
    for (const node of nodes.items) {
      expect(node).toMatchObject({
        pool: 'web',
        power: 'running',
        schedulable: true,
        state: 'ready',
        ...exact(),
      });
      const which = await imago.json<Record<string, unknown>>(['node', 'which', String(node.name)]);
      expect(which).toMatchObject({ ...exact(), reference: 'node:production', channel: 'production' });
      expect(which.move).toBeTypeOf('number');
      expect(which.at).toBeTypeOf('string');
    }
  });

  test('a dry run tells and writes nothing (rule 9)', async () => {
    const before = await imago.json<List<unknown>>(['op', 'list']);
    const plan = await imago.json<{ plan: string[] }>(['pool', 'scale', 'web', '--nodes', '5', '--dry-run']);
    expect(plan.plan.join(' ')).toContain('from 3 to 5');
    expect(await imago.json(['op', 'list'])).toEqual(before);
    expect(await imago.json(['pool', 'show', 'web'])).toMatchObject({ capacity: 3 });
  });

  test('a pool that was given a channel follows it for new nodes, and only for them', async () => {
    await imago.writeFile('imago.yaml', recipe.replace('1.7.24', '1.7.25'));
    const second = await imago.json<Built>(['build']);
    await imago.json(['test', `node:${second.version}`]);
    await imago.json([
      'channel',
      'promote',
      `node:${second.version}`,
      '--to',
      'production',
      '--reason',
      'newer containerd',
    ]);
    await imago.json(['pool', 'set-image', 'web', '--image', 'node:production']);
    await imago.json(['pool', 'scale', 'web', '--nodes', '4']);
    const nodes = await imago.json<List<{ version: string }>>(['node', 'list', '--pool', 'web']);
    const versions = nodes.items.map(({ version }) => version).sort();
    expect(versions).toEqual([built.version, built.version, built.version, second.version]);
  });

  test('going back is a new move, and says who and why', async () => {
    const { version } = await imago.json<{ version: string }>(['resolve', 'node:production']);
    await imago.json([
      ...['channel', 'rollback', 'node:production', '--reason', 'kubelet crashes'],
      ...['--expect', version, '--yes'],
    ]);
    const found = await imago.json<{ version: string }>(['resolve', 'node:production']);
    expect(found.version).toBe(built.version);
    const moves = await imago.json<List<{ why: string; by: string }>>([
      'channel',
      'history',
      'node:production',
    ]);
    expect(moves.items[0]).toMatchObject({ why: 'kubelet crashes', by: 'local' });
  });

  test('a failed scaling is undone, and a retry goes on from what is', async () => {
    await imago.json(['sim', 'fault', 'add', 'pools.setCapacity', 'fails', '--count', '50']);
    const failed = await imago.run(['pool', 'scale', 'web', '--nodes', '6']);
    expect(failed.code).toBe(5);
    expect(await imago.json(['pool', 'show', 'web'])).toMatchObject({ capacity: 4 });
    for (const { id } of (await imago.json<List<{ id: number }>>(['sim', 'fault', 'list'])).items) {
      await imago.json(['sim', 'fault', 'remove', String(id)]);
    }
    const [last] = (await imago.json<List<{ id: string; state: string }>>(['op', 'list'])).items;
    expect(last?.state).toBe('failed');
    await imago.json(['op', 'retry', last?.id ?? '']);
    expect(await imago.json(['pool', 'show', 'web'])).toMatchObject({ capacity: 6 });
  });

  test('what cannot be taken back needs --yes off a terminal', async () => {
    expect((await imago.run(['pool', 'delete', 'web'])).code).toBe(4);
    await imago.json(['pool', 'delete', 'web', '--yes']);
    expect((await imago.run(['pool', 'show', 'web'])).code).toBe(3);
  });

  test('rule 6 holds when the node is gone', async () => {
    const which = await imago.json<Record<string, unknown>>(['node', 'which', 'web-000000']);
    expect(which).toMatchObject({ ...exact(), reference: 'node:production' });
  });

  test('everything that wrote is in the audit', async () => {
    const audit = await imago.json<List<{ who: string; what: string }>>(['audit', '--limit', '200']);
    expect(audit.items.every(({ who }) => who === 'local')).toBe(true);
    const kinds = new Set(audit.items.map(({ what }) => what));
    for (const what of ['createBuild', 'createTest', 'promote', 'createPool', 'scalePool', 'deletePool']) {
      expect(kinds).toContain(what);
    }
  });
});

function exact() {
  return { image: 'node', version: built.version, digest: built.digest };
}
