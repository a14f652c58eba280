// Promotion as people run it: the command line, a daemon with its real engine and database, and a signed statement
// that is checked with nothing but the public key.
import { createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEnvelope } from '../../src/images/store/dsse.ts';
import { createImago, type Imago, recipe } from '../support/imago.ts';

let imago: Imago;

beforeAll(async () => {
  imago = await createImago();
  await imago.json(['up', '--provider', 'sim']);
  await imago.writeFile('imago.yaml', recipe);
});
afterAll(() => imago.end());

const policy = `version: 1
channels:
  production:
    age: {in: staging, atLeast: 2s}
    scan: {noneAbove: medium}
`;

const report = JSON.stringify({
  SchemaVersion: 2,
  ArtifactName: 'node',
  Results: [
    { Target: 'debian', Vulnerabilities: [{ VulnerabilityID: 'CVE-1', PkgName: 'a', Severity: 'HIGH' }] },
  ],
});

interface Released {
  readonly version: string;
  readonly channels: readonly string[];
  readonly changed: boolean;
}

test('a release to staging, a scan, and a release on to production that waits for its time', async () => {
  const file = await imago.writeFile('policy.yaml', policy);
  expect((await imago.run(['policy', 'check', file])).out).toContain('is well formed');
  await imago.json(['policy', 'set', file, '--why', 'first']);
  await imago.json(['keys', 'create']);
  const staged = await imago.json<Released>(['release', '--why', 'weekly', '--to', 'staging']);
  expect(staged).toMatchObject({ changed: true, channels: ['staging'] });
  const closed = await imago.run(['release', '--why', 'weekly']);
  expect(closed.code).toBe(4);
  expect(closed.err).toContain('no report is attached');

  const bad = await imago.writeFile('bad.json', report);
  await imago.json(['image', 'attest', 'node:staging', bad]);
  const gates = await imago.json<{ gates: object[] }>([
    'channel',
    'gates',
    'node:staging',
    '--to',
    'production',
  ]);
  expect(gates.gates).toMatchObject([
    { gate: 'tested', passed: true },
    { gate: 'age' },
    { gate: 'scan', passed: false, value: 'trivy: 1 high' },
  ]);
  const good = await imago.writeFile('good.json', report.replace('HIGH', 'LOW'));
  await imago.json(['image', 'attest', 'node:staging', good]);
  const done = await imago.json<Released>(['release', '--why', 'weekly']);
  expect(done).toMatchObject({ version: staged.version, channels: ['production'] });
  expect(await imago.json<Released>(['release', '--why', 'again'])).toMatchObject({ changed: false });
});

test('the move is signed, and says what was tested and what every gate found', async () => {
  const { envelope } = await imago.json<{ envelope: string }>(['channel', 'attestation', 'node:production']);
  const { items } = await imago.json<{ items: { publicKey: string }[] }>(['keys', 'list']);
  const publicKey = createPublicKey(items[0]?.publicKey ?? '');
  const { statement, signedBy } = openEnvelope(Buffer.from(envelope), [{ publicKey }]);
  expect(signedBy).toHaveLength(1);
  const shown = await imago.json<{ digest: string; composed: object[] }>([
    'image',
    'show',
    'node:production',
  ]);
  expect(statement).toMatchObject({
    predicateType: 'urn:imago:channel-move:v1',
    subject: [{ digest: { sha256: shown.digest.slice(7) } }],
    predicate: {
      ...{ image: 'node', channel: 'production', by: 'local', why: 'weekly' },
      composed: { digest: shown.digest, kubernetes: '1.34.2' },
    },
  });
  const forged = JSON.parse(envelope) as { payload: string };
  const text = Buffer.from(forged.payload, 'base64').toString().replace('"production"', '"everywhere"');
  forged.payload = Buffer.from(text).toString('base64');
  expect(openEnvelope(Buffer.from(JSON.stringify(forged)), [{ publicKey }]).signedBy).toEqual([]);
});

test('bad input is refused with a hint, and changes nothing', async () => {
  const cases: readonly [readonly string[], number, string][] = [
    [['channel', 'promote', 'node:staging', '--to', 'prodction', '--why', 'x'], 3, 'production'],
    [['channel', 'promote', 'node:staging', '--to', 'latest', '--why', 'x'], 4, 'cannot be set'],
    [['channel', 'promote', 'node:staging', '--to', 'production', '--why', ''], 2, ''],
    [
      ['channel', 'promote', 'node:staging', '--to', 'production', '--why', 'x', '--override', 'scan'],
      2,
      '--reason',
    ],
    [['policy', 'check', 'imago.yaml'], 2, 'not known'],
    [['policy', 'check', 'missing.yaml'], 2, 'no file'],
    [['image', 'attest', 'node:staging', 'imago.yaml'], 2, 'not JSON'],
    [['image', 'approve', 'node:staging', '--to', 'production'], 4, 'token'],
    [['resolve', 'node', '--kubernetes', '1.99'], 3, '1.34.2'],
    [['resolve', 'node:production', '--at', 'yesterday'], 2, 'not a time'],
    [['release', 'missing.yaml', '--why', 'x'], 2, 'no file'],
  ];
  const before = await imago.json(['channel', 'history', 'node']);
  for (const [words, code, says] of cases) {
    const ended = await imago.run(words);
    expect({ words, code: ended.code }).toEqual({ words, code });
    expect(ended.err).toContain(says);
  }
  expect(await imago.json(['channel', 'history', 'node'])).toEqual(before);
});
