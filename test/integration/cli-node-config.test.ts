// The config of nodes as people work with it: checked and compared without a daemon, then sent to nodes that run.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createImago, type Imago, recipe } from '../support/imago.ts';

const examples = resolve(import.meta.dirname, '../../examples/node-config');
const example = (name: string) => join(examples, `${name}.yaml`);
const token = 'abcdef.0123456789abcdef';
let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
});
afterAll(() => imago.end());

describe('without a daemon', () => {
  test('a good file is good, and says what it needs of the image and of secrets', async () => {
    expect(await imago.json(['node', 'config', 'validate', example('cluster')])).toMatchObject({
      ok: true,
      needs: expect.arrayContaining(['kubernetes', 'component:kubelet']),
      secrets: ['join'],
    });
  });

  test('every mistake comes with line, column and the nearest name, and no secret', async () => {
    const file = await imago.writeFile(
      'bad.yaml',
      'schemaVersion: 1\nkubelt: {}\nkubernetes:\n  apiServer: https://a.example.com\n  bootstrap:\n    token: hunter2\n',
    );
    const { code, err } = await imago.run(['node', 'config', 'validate', file]);
    expect(code).toBe(2);
    expect(err).toContain(`${file}:2:1: kubelt is not a field of the node config. Did you mean \`kubelet\`?`);
    expect(err).toContain(`${file}:6:5: kubernetes.bootstrap.token is not a bootstrap token`);
    expect(err).toContain(`${file}:3:1: kubernetes.ca is missing.`);
    expect(err).not.toContain('hunter2');
  });

  test.each([
    ['a: [1', /^error: .*:\d+:\d+: The document is not valid YAML or JSON/],
    ['schemaVersion: 1\nnode: {}\nnode: {}\n', /:3:1: The document has a duplicate key/],
    ['', /The document must be an object/],
  ])('a file of %j is refused at its place', async (text, message) => {
    const file = await imago.writeFile('broken.yaml', text);
    const { code, err } = await imago.run(['node', 'config', 'validate', file]);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  test('two files are compared by what changes and what it costs', async () => {
    const words = ['node', 'config', 'diff', example('cluster'), example('cluster-next')];
    expect(await imago.json(words)).toMatchObject({
      cost: 'restart',
      changes: [
        { field: 'kubelet.maxPods', cost: 'restart' },
        { field: 'hotfixes.runc', kind: 'added' },
      ],
    });
  });

  test('the same input renders to the same bytes', async () => {
    const words = ['node', 'config', 'render', example('cluster'), '--pool', 'web'];
    const first = await imago.json<{ digest: string }>(words);
    expect(await imago.json(words)).toEqual(first);
  });

  test('a field is explained, and a mistyped one finds the nearest', async () => {
    expect(await imago.json(['node', 'config', 'explain', 'node.taints'])).toMatchObject({ cost: 'drain' });
    const { code, err } = await imago.run(['node', 'config', 'explain', 'kublet.maxPods']);
    expect(code).toBe(2);
    expect(err).toContain('Did you mean `kubelet.maxPods`?');
  });
});

describe('on nodes that run', () => {
  test('a pool is made with a config, changed in place, fixed, and refuses what it cannot do', async () => {
    await imago.writeFile('imago.yaml', recipe);
    const { image, version } = await imago.json<{ image: string; version: string }>(['build']);
    await imago.json(['test', `${image}:${version}`]);
    const create = ['pool', 'create', 'web', '--image', `${image}:${version}`, '--nodes', '2'];
    const withConfig = [...create, '--node-config', example('standalone')];
    await imago.json(withConfig);

    const planned = await imago.run(['node', 'config', 'set', 'web', example('cluster'), '--dry-run']);
    expect(planned).toMatchObject({ code: 3 });
    expect(planned.err).toContain('names the secret join');
    await mkdir(join(imago.home, 'secrets'), { recursive: true });
    await writeFile(join(imago.home, 'secrets', 'join'), token, { mode: 0o600 });

    const cluster = await readFile(example('cluster'), 'utf8');
    const named = await imago.writeFile('named.json', JSON.stringify(parse(cluster)));
    const inline = await imago.writeFile(
      'inline.json',
      JSON.stringify(parse(cluster.replace('secret:join', token))),
    );
    const refusedTest = await imago.run(['test', `${image}:${version}`, '--node-config', inline]);
    expect(refusedTest).toMatchObject({ code: 2 });
    expect(refusedTest.err).toContain('secret:NAME');
    expect(refusedTest.err).not.toContain(token);
    await imago.json(['test', `${image}:${version}`, '--node-config', named]);

    const forNode = await imago.run(['node', 'config', 'set', 'web-000001', example('cluster'), '--dry-run']);
    expect(forNode.out).toMatch(/Node web-000001: each node waits until it is drained/);
    expect(forNode.out).not.toContain('node.pool');
    expect(await imago.json(['node', 'config', 'set', 'web-000001', example('cluster')])).toMatchObject({
      applied: 0,
      waitingNodes: [{ node: 'web-000001', for: 'drain' }],
    });
    const waits = await imago.run(['node', 'config', 'show', 'web-000001']);
    expect(waits.out).toMatch(/^waiting +for a drain/m);
    expect(waits.out).toMatch(/^pending: .* \(drain\)$/m);
    expect(waits.out).not.toContain(token);
    const future = await imago.writeFile('future.yaml', 'schemaVersion: 1\nrequires: [time-travel]\n');
    const refused = await imago.run(['node', 'config', 'set', 'web', future]);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('requires time-travel, which this image does not have');

    const small = await imago.writeFile('small.yaml', 'schemaVersion: 1\ntime: {zone: Europe/Berlin}\n');
    // The second node keeps its own config, which still waits for a drain.
    const oneWaits = { applied: 1, waitingNodes: [{ node: 'web-000001', for: 'drain' }] };
    expect(await imago.json(['node', 'config', 'set', 'web', small])).toMatchObject(oneWaits);
    const fix = [
      '--component',
      'crictl',
      '--version',
      '1.34.0',
      '--source',
      'https://files.example.com/crictl',
    ];
    const sum = ['--sha256', 'a'.repeat(64), '--to', '/usr/bin/crictl'];
    expect(await imago.json(['node', 'config', 'hotfix', 'web', ...fix, ...sum])).toMatchObject(oneWaits);
    const shown = await imago.json<{ nodeConfig: string }>(['pool', 'show', 'web']);
    expect(JSON.parse(shown.nodeConfig)).toMatchObject({
      time: { zone: 'Europe/Berlin' },
      hotfixes: [{ component: 'crictl', version: '1.34.0' }],
    });

    await imago.json(['node', 'config', 'set', 'web-000001', example('cluster')]);
    const allow = ['node', 'config', 'allow', 'web-000001'];
    expect((await imago.run([...allow, '--dry-run'])).out).toContain('which costs a drain');
    await imago.json(allow);
    await expect
      .poll(() => imago.json(['node', 'config', 'show', 'web-000001']))
      .toMatchObject({ config: { document: { kubelet: expect.anything() } }, pending: [] });
  });

  test('ports are forwarded where there are machines, and machines of no pool are told apart from nodes', async () => {
    const create = ['pool', 'create', 'other', '--image', 'node:1.34.2', '--nodes', '1'];
    expect((await imago.run([...create, '--forward', 'ssh'])).err).toContain('is no port to forward');
    expect(await imago.json(['machine', 'list'])).toMatchObject({ items: [] });
    const missing = await imago.run(['machine', 'delete', 'web-000001', '--yes']);
    expect(missing).toMatchObject({ code: 3 });
    expect(missing.err).toContain('machines of pools are nodes');
  });

  test('a name that is neither pool nor node is not found', async () => {
    const small = await imago.writeFile('small.yaml', 'schemaVersion: 1\n');
    expect(await imago.run(['node', 'config', 'set', 'wob', small])).toMatchObject({ code: 3 });
  });
});
