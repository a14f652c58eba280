// Destructive commands name exactly what they destroy, ask first, and change nothing if they are repeated.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { startKubeServer } from '../support/kube-server.ts';

let imago: Imago;
let versions: string[];

/** Three tested versions, and production was moved to each of them in turn. */
beforeAll(async () => {
  imago = await createImago();
  versions = [];
  for (const containerd of ['1.7.24', '1.7.25', '1.7.26']) {
    await imago.writeFile('imago.yaml', recipe.replace('1.7.24', containerd));
    const { version } = await imago.json<{ version: string }>(['build']);
    await imago.json(['test', `node:${version}`]);
    await promote(version);
    versions.push(version);
  }
});

afterAll(() => imago.end());

function promote(version: string) {
  return imago.json(['channel', 'promote', `node:${version}`, '--to', 'production', '--reason', 'weekly']);
}

async function production(): Promise<string | undefined> {
  const found = await imago.json<{ items: { name: string; version?: string }[] }>([
    'channel',
    'list',
    'node',
  ]);
  return found.items.find(({ name }) => name === 'production')?.version;
}

async function state(version: string | undefined): Promise<string> {
  return (await imago.json<{ state: string }>(['image', 'show', `node:${version}`])).state;
}

describe('channel rollback', () => {
  const rollback = ['channel', 'rollback', 'node:production', '--reason', 'kubelet crashes'];

  test('needs --yes off a terminal, and --yes needs the version that the channel leaves', async () => {
    const unasked = await imago.run(rollback);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining('--yes')]);
    const unnamed = await imago.run([...rollback, '--yes']);
    expect([unnamed.code, unnamed.err]).toEqual([4, expect.stringContaining(`--expect ${versions[2]}`)]);
    const other = await imago.run([...rollback, '--yes', '--expect', `${versions[1]}`]);
    expect([other.code, other.err]).toEqual([4, expect.stringContaining(`points at ${versions[2]}`)]);
    expect(await production()).toBe(versions[2]);
  });

  test('does not go further back if it is repeated', async () => {
    const command = [...rollback, '--yes', '--expect', `${versions[2]}`];
    expect(await imago.json(command)).toMatchObject({ version: versions[1] });
    expect(await imago.json(command)).toMatchObject({ version: versions[1] });
    expect((await imago.run([...command, '--dry-run'])).out).toContain('already');
    expect(await production()).toBe(versions[1]);
  });

  test('is refused once someone else moved the channel', async () => {
    await promote(`${versions[2]}`);
    const late = await imago.run([...rollback, '--yes', '--expect', `${versions[1]}`]);
    expect(late.code).toBe(4);
    expect(await production()).toBe(versions[2]);
  });
});

describe('image withdraw', () => {
  const because = ['--reason', 'kubelet crashes'];

  test('refuses a bare name: the newest version may be a good one', async () => {
    const bare = await imago.run(['image', 'withdraw', 'node', ...because, '--yes']);
    expect([bare.code, bare.err]).toEqual([2, expect.stringContaining('without a version or channel')]);
    expect(await state(versions[2])).toBe('available');
  });

  test('needs --yes off a terminal, and with a channel also --expect', async () => {
    const unasked = await imago.run(['image', 'withdraw', `node:${versions[2]}`, ...because]);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining('--yes')]);
    const channel = ['image', 'withdraw', 'node:production', ...because];
    const unnamed = await imago.run([...channel, '--yes']);
    expect([unnamed.code, unnamed.err]).toEqual([4, expect.stringContaining(`--expect ${versions[2]}`)]);
    const other = await imago.run([...channel, '--yes', '--expect', `${versions[1]}`]);
    expect([other.code, other.err]).toEqual([
      4,
      expect.stringContaining(`node:production is ${versions[2]}`),
    ]);
    const dry = await imago.run([...channel, '--dry-run']);
    expect([dry.code, dry.out]).toEqual([0, expect.stringContaining(`Withdraw node:${versions[2]}`)]);
    expect([await state(versions[2]), await state(versions[1])]).toEqual(['available', 'available']);
  });

  test('withdraws one version, and no other if it is repeated', async () => {
    const command = [
      'image',
      'withdraw',
      'node:production',
      ...because,
      '--yes',
      '--expect',
      `${versions[2]}`,
    ];
    expect(await imago.json(command)).toMatchObject({ versions: [`node:${versions[2]}`] });
    expect(await imago.json(command)).toMatchObject({ versions: [`node:${versions[2]}`] });
    expect((await imago.run([...command, '--dry-run'])).out).toContain('already withdrawn');
    expect([await production(), await state(versions[1])]).toEqual([versions[1], 'available']);
  });
});

describe('channel delete', () => {
  const remove = ['channel', 'delete', 'node:canary', '--reason', 'not used'];

  test('needs --yes, and refuses a channel that points elsewhere than expected', async () => {
    await imago.json(['channel', 'create', 'node:canary']);
    await imago.json(['channel', 'promote', `node:${versions[0]}`, '--to', 'canary', '--reason', 'first']);
    const unasked = await imago.run(remove);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining(`${versions[0]}`)]);
    const other = await imago.run([...remove, '--yes', '--expect', `${versions[1]}`]);
    expect([other.code, other.err]).toEqual([4, expect.stringContaining(`points at ${versions[0]} now`)]);
    await imago.json([...remove, '--yes', '--expect', `${versions[0]}`]);
  });

  test('changes nothing if it is repeated', async () => {
    expect((await imago.run([...remove, '--yes'])).code).toBe(3);
  });
});

describe('pool scale and pool delete', () => {
  test('nodes are only removed with --yes and from the expected number', async () => {
    await imago.json(['pool', 'create', 'web', '--image', `node:${versions[0]}`, '--nodes', '3']);
    const fewer = ['pool', 'scale', 'web', '--nodes', '2'];
    const unasked = await imago.run(fewer);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining('from 3 to 2')]);
    expect(unasked.err).toContain('Nodes are drained first');
    expect((await imago.run(['pool', 'scale', '--help'])).out).toContain('Nodes are drained first');
    const other = await imago.run([...fewer, '--yes', '--expect', '5']);
    expect([other.code, other.err]).toEqual([4, expect.stringContaining('has 3 nodes')]);
    await imago.json([...fewer, '--yes', '--expect', '3']);
    await imago.json(['pool', 'scale', 'web', '--nodes', '3']);
    const emptied = await imago.run(['pool', 'delete', 'web', '--yes', '--expect', '0']);
    expect([emptied.code, emptied.err]).toEqual([4, expect.stringContaining('has 3 nodes')]);
    await imago.json(['pool', 'delete', 'web', '--yes', '--expect', '3']);
  });
});

describe('node replace and node delete', () => {
  test('only with --yes, and a repeat changes nothing', async () => {
    await imago.json(['pool', 'create', 'few', '--image', `node:${versions[0]}`, '--nodes', '2']);
    for (const verb of ['replace', 'delete']) {
      const unasked = await imago.run(['node', verb, 'few-000001']);
      const plan = expect.stringMatching(new RegExp(`${verb} node few-000001 of pool few`, 'i'));
      expect([unasked.code, unasked.err]).toEqual([4, plan]);
      expect(await imago.json(['node', verb, 'few-000001', '--yes'])).toMatchObject({ node: 'few-000001' });
    }
    expect((await imago.run(['node', 'delete', 'few-000001', '--yes'])).code).toBe(3);
    expect(await imago.json(['pool', 'show', 'few'])).toMatchObject({ capacity: 1 });
    await imago.json(['pool', 'delete', 'few', '--yes', '--no-drain']);
  });
});

describe('prune', () => {
  test('deletes nothing if other versions than expected can be deleted', async () => {
    const surprised = await imago.run(['prune', 'node', '--keep-count', '1', '--yes', '--expect', '17']);
    expect([surprised.code, surprised.err]).toEqual([4, expect.stringContaining('--expect')]);
    for (const version of versions) expect(await state(version)).not.toBe('deleted');
  });
});

describe('cluster remove', () => {
  test('only with --yes, and a repeat changes nothing', async () => {
    const kube = await startKubeServer();
    await imago.json(['cluster', 'add', 'old', '--kubeconfig', kube.kubeconfig]);
    const remove = ['cluster', 'remove', 'old'];
    const unasked = await imago.run(remove);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining('Unregister cluster old')]);
    const names = async () =>
      (await imago.json<{ items: { name: string }[] }>(['cluster', 'list'])).items.map(({ name }) => name);
    expect(await names()).toEqual(['old', 'sim']);
    await imago.json([...remove, '--yes']);
    expect(await names()).toEqual(['sim']);
    expect((await imago.run([...remove, '--yes'])).code).toBe(3);
    await kube.close();
  });
});

describe('gallery remove, webhook delete, schedule delete, token revoke', () => {
  const cron = ['--cron', '0 3 * * *', '--kind', 'test', '--subject', 'image/node'];
  const input = ['--input', '{"reference":"node:production"}'];
  const hook = ['--url', 'http://127.0.0.1:9/', '--allow-private', '--event', 'channel.moved'];

  test.each([
    [
      'gallery',
      ['add', 'old', '--provider', 'sim', '--place', 'old'],
      ['remove', 'old'],
      'Forget gallery old',
    ],
    ['webhook', ['create', 'ci', ...hook], ['delete', 'ci'], 'Delete webhook ci'],
    ['schedule', ['create', 'nightly', ...cron, ...input], ['delete', 'nightly'], 'End the schedule nightly'],
  ])('%s: only with --yes, and a repeat changes nothing', async (noun, create, destroy, plan) => {
    await imago.json([noun, ...create]);
    await refusesUnasked([noun, ...destroy], plan);
    expect((await imago.json<{ items: object[] }>([noun, 'list'])).items).toHaveLength(1);
    await imago.json([noun, ...destroy, '--yes']);
    expect((await imago.json<{ items: object[] }>([noun, 'list'])).items).toEqual([]);
    expect((await imago.run([noun, ...destroy, '--yes'])).code).toBe(3);
  });

  test('token: only with --yes, and a repeat changes nothing', async () => {
    const { id } = await imago.json<{ id: string }>(['token', 'create', '--owner', 'ci', '--role', 'viewer']);
    const revoke = ['token', 'revoke', id];
    const revokedAt = async () =>
      (await imago.json<{ items: { revokedAt?: string }[] }>(['token', 'list'])).items[0]?.revokedAt;
    await refusesUnasked(revoke, 'of ci (viewer)');
    expect(await revokedAt()).toBeUndefined();
    await imago.json([...revoke, '--yes']);
    const first = await revokedAt();
    expect(first).toBeDefined();
    await imago.json([...revoke, '--yes']);
    expect(await revokedAt()).toBe(first);
    expect((await imago.run([...revoke, '--dry-run'])).out).toContain('already revoked');
  });

  async function refusesUnasked(command: readonly string[], plan: string): Promise<void> {
    const unasked = await imago.run([...command]);
    expect([unasked.code, unasked.err]).toEqual([4, expect.stringContaining(plan)]);
    expect(unasked.err).toContain('--yes');
    expect((await imago.run([...command, '--dry-run'])).out).toContain(plan);
  }
});

describe('policy set', () => {
  test('a policy that opens production by a typo needs --yes, and the check shows it', async () => {
    const gates = '    approvals: { count: 1, role: publisher }\n';
    const good = await imago.writeFile('policy.yaml', `version: 1\nchannels:\n  production:\n${gates}`);
    const typo = await imago.writeFile('typo.yaml', `version: 1\nchannels:\n  prodution:\n${gates}`);
    await imago.json(['policy', 'set', good, '--reason', 'first']);
    const inEffect = await imago.json<{ digest: string }>(['policy', 'show']);
    const loss = 'Channel production loses the gate approvals: node.';
    expect((await imago.run(['policy', 'check', typo])).out).toContain(loss);
    const refused = await imago.run(['policy', 'set', typo, '--reason', 'oops']);
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining(loss)]);
    expect(refused.err).toContain('Did you mean production?');
    expect(await imago.json(['policy', 'show'])).toMatchObject({ digest: inEffect.digest });
    await imago.json(['policy', 'set', typo, '--reason', 'on purpose', '--yes']);
  });

  test('a policy that weakens a gate of production needs --yes', async () => {
    const policy = (age: string) => `version: 1\nchannels:\n  production:\n    age: { atLeast: ${age} }\n`;
    const days = await imago.writeFile('days.yaml', policy('7d'));
    const minutes = await imago.writeFile('minutes.yaml', policy('7m'));
    await imago.json(['policy', 'set', days, '--reason', 'a week in staging', '--yes']);
    const refused = await imago.run(['policy', 'set', minutes, '--reason', 'oops']);
    const loss = 'Channel production weakens the gate age (atLeast): node.';
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining(loss)]);
    await imago.json(['policy', 'set', minutes, '--reason', 'on purpose', '--yes']);
  });
});
