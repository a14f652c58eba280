// Promotion as people run it: the command line, a daemon with its real engine and database, and a signed statement
// that is checked with nothing but the public key.
import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEnvelope } from '../../src/oci/signatures/dsse.ts';
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
  expect((await imago.run(['policy', 'check', file])).out).toContain('is valid');
  await imago.json(['policy', 'set', file, '--reason', 'first']);
  await imago.writeFile('other.yaml', recipe.replace('name: node', 'name: other'));
  await imago.json(['release', 'other.yaml', '--reason', 'unsigned', '--to', 'staging']);
  await imago.json(['keys', 'create']);
  const staged = await imago.json<Released>(['release', '--reason', 'weekly', '--to', 'staging']);
  expect(staged).toMatchObject({ changed: true, channels: ['staging'] });
  const dry = await imago.json<{ plan: string[] }>(['release', '--reason', 'weekly', '--dry-run']);
  expect(dry.plan).toEqual([
    'lock: Lock recipe node.',
    `build: Nothing more: node:${staged.version} has this lock.`,
    `test: Skipped: node:${staged.version} is available.`,
    'publish: Skipped: the gallery of sim has it.',
    'gates-staging: Skipped: node:staging points at it.',
    expect.stringMatching(/^gates-production: ✓ tested: /),
    expect.stringMatching(/^gates-production: [✓✗] age: needs 2 s in staging; /),
    expect.stringMatching(/^gates-production: ✗ scan: .*no report is attached/),
    expect.stringMatching(/^gates-production: It would wait /),
    expect.stringMatching(/^promote-production: Move node:production from nothing to /),
  ]);
  const told = await imago.run(['release', '--reason', 'weekly', '--dry-run']);
  expect(told.out).toMatch(/^Dry run\. These changes would be made:\n {2}lock: Lock recipe node\.\n/);
  // The run does what the dry run said: it waits for a report.
  const { id } = await imago.json<{ id: string }>(['release', '--reason', 'weekly', '--no-wait']);
  const waiting = async () => JSON.stringify(await imago.json(['op', 'show', id]));
  while (!(await waiting()).includes('no report is attached'));

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
  const failed = await imago.run(['op', 'watch', id]);
  expect([failed.code, failed.err]).toEqual([4, expect.stringContaining('1 high')]);
  const good = await imago.writeFile('good.json', report.replace('HIGH', 'LOW'));
  await imago.json(['image', 'attest', 'node:staging', good]);
  const done = await imago.json<Released>(['release', '--reason', 'weekly']);
  expect(done).toMatchObject({ version: staged.version, channels: ['production'] });
  expect(await imago.json<Released>(['release', '--reason', 'again'])).toMatchObject({ changed: false });
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

test('anyone with the public key can check the move, where no daemon runs and none is started', async () => {
  const { out } = await imago.run(['channel', 'attestation', 'node:production']);
  const file = await imago.writeFile('move.json', out);
  const key = await imago.writeFile('imago.pub', (await imago.run(['keys', 'show'])).out);
  const alone = { env: { IMAGO_HOME: `${imago.folder}/elsewhere` } };
  const verify = (path: string, ...more: string[]) =>
    imago.run(['channel', 'verify', path, '--key', key, ...more], alone);
  const good = await verify(file, '--channel', 'node:production');
  expect(good).toMatchObject({ code: 0, err: '' });
  expect(good.out).toContain('✓ tested');
  expect(good.out).toContain('tested together as');
  const forged = JSON.parse(out) as { payload: string };
  const text = Buffer.from(forged.payload, 'base64').toString().replaceAll('"weekly"', '"monthly"');
  forged.payload = Buffer.from(text).toString('base64');
  const bad = await verify(await imago.writeFile('forged.json', JSON.stringify(forged)));
  expect(bad).toMatchObject({ code: 4, out: '' });
  expect(bad.err).toContain('no signature of the key');
  expect((await verify(file, '--channel', 'node:staging')).code).toBe(4);
  expect((await verify(file, '--digest', `sha256:${'0'.repeat(64)}`)).code).toBe(4);
  expect((await verify('imago.yaml')).code).toBe(4);
  expect((await imago.run(['channel', 'verify', file], alone)).code).toBe(2);
  expect(existsSync(`${imago.folder}/elsewhere`)).toBe(false);
});

test('a move from before there was a key is signed later, once', async () => {
  const before = await imago.run(['channel', 'attestation', 'other:staging']);
  expect(before.code).toBe(3);
  expect(before.err).toContain('imago channel sign other:staging');
  const plan = await imago.run(['channel', 'sign', 'other:staging', '--dry-run']);
  expect(plan.out).toContain('Sign move');
  const signed = await imago.json<{ envelope: string }>(['channel', 'sign', 'other:staging']);
  expect(await imago.json(['channel', 'sign', 'other:staging'])).toEqual(signed);
  const file = await imago.writeFile('later.json', signed.envelope);
  const words = ['channel', 'verify', file, '--key', `${imago.folder}/imago.pub`];
  const { items } = await imago.json<{ items: object[] }>(words);
  expect(items).toMatchObject([{ image: 'other', channel: 'staging', why: 'unsigned' }]);
  expect(await imago.run(['channel', 'sign', 'other:staging', '--move', '999'])).toMatchObject({ code: 3 });
});

test('a move whose key was revoked is signed anew; the new statement counts, and the old one is kept', async () => {
  interface Signed {
    readonly move: number;
    readonly envelope: string;
    readonly problem?: string;
    readonly earlier: readonly { readonly envelope: string }[];
  }
  const attestation = () => imago.json<Signed>(['channel', 'attestation', 'node:production']);
  const sign = (...more: string[]) => imago.run(['channel', 'sign', 'node:production', ...more]);
  const old = await attestation();
  expect(old).toMatchObject({ earlier: [] });
  expect(old.problem).toBeUndefined();
  const { items } = await imago.json<{ items: { id: string }[] }>(['keys', 'list']);
  await imago.json(['keys', 'revoke', items[0]?.id ?? '', '--reason', 'it leaked', '--yes']);
  expect(await attestation()).toEqual({ ...old, problem: 'its key was revoked: it leaked' });
  const printed = await imago.run(['channel', 'attestation', 'node:production']);
  expect(printed.out).toBe(`${old.envelope}\n`);
  expect(printed.err).toContain(`imago channel sign node:production --move ${old.move}`);
  expect(await sign()).toMatchObject({ code: 3, err: expect.stringContaining('imago keys create') });

  await imago.json(['keys', 'create']);
  expect((await sign('--dry-run')).out).toMatch(/Sign move .* again.*its key was revoked: it leaked/s);
  expect(await attestation()).toMatchObject({ envelope: old.envelope });
  expect((await sign()).code).toBe(0);
  const now = await attestation();
  expect(now.problem).toBeUndefined();
  expect(now.earlier).toMatchObject([{ envelope: old.envelope }]);
  const payload = ({ envelope }: Signed) => (JSON.parse(envelope) as { payload: string }).payload;
  expect(payload(now)).toBe(payload(old));
  expect((await sign('--dry-run')).out).toContain('It is signed already.');
  await sign();
  expect(await attestation()).toEqual(now);

  const key = await imago.writeFile('young.pub', (await imago.run(['keys', 'show'])).out);
  const verify = async ({ envelope }: Signed) =>
    imago.run(['channel', 'verify', await imago.writeFile('anew.json', envelope), '--key', key]);
  expect((await verify(now)).code).toBe(0);
  expect((await verify(old)).code).toBe(4);
});

test('a matrix is released as one, and by the clock only when something is newer', async () => {
  const matrix = recipe
    .replace('name: node', 'name: lines')
    .replace('kubernetes: 1.34.2', 'matrix: {kubernetes: [1.34.2, 1.33.5]}');
  await imago.writeFile('matrix.yaml', matrix);
  const words = ['release', 'matrix.yaml', '--reason', 'weekly', '--to', 'staging'];
  const released = await imago.json<{ versions: { version: string }[]; channels: string[] }>(words);
  expect(released.channels).toEqual(['staging-1-33', 'staging-1-34', 'staging']);
  expect(released.versions).toHaveLength(2);
  const asked = ['resolve', 'lines:staging', '--kubernetes', '1.33'];
  expect(await imago.json(asked)).toMatchObject({ channel: 'staging-1-33', kubernetes: '1.33.5' });
  expect(await imago.json([...words, '--when-newer'])).toMatchObject({ newer: false, release: null });
  const clock = ['--when-newer', '--every', '0 * * * *', '--name', 'lines'];
  expect(await imago.json([...words, ...clock])).toMatchObject({ kind: 'release-newer' });
  expect((await imago.run([...words, '--kubernetes', '1.34.3'])).err).toContain(
    'Kubernetes 1.34.3 is not in the matrix of the recipe',
  );
});

test('lineage begins at the commit of the recipe, and says when it was built with changes', async () => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
      cwd: imago.folder,
      encoding: 'utf8',
    }).trim();
  git('init', '--quiet');
  await imago.writeFile('lined.yaml', recipe.replace('name: node', 'name: lined'));
  git('add', 'lined.yaml');
  git('commit', '--quiet', '--message', 'recipe');
  const commit = git('rev-parse', 'HEAD');
  await imago.json(['build', 'lined.yaml']);
  expect((await imago.run(['image', 'show', 'lined'])).out).toMatch(new RegExp(`recipe +at ${commit}\\n`));
  await imago.writeFile(
    'lined.yaml',
    recipe.replace('name: node', 'name: lined').replace('1.34.2', '1.34.3'),
  );
  await imago.json(['build', 'lined.yaml']);
  const shown = await imago.json<{ origin: object }>(['image', 'show', 'lined']);
  expect(shown.origin).toMatchObject({ source: { commit, dirty: true } });
  expect((await imago.run(['image', 'ancestors', 'lined'])).out).toContain(
    `recipe lined at ${commit} with changes`,
  );
});

test('bad input is refused with a hint, and changes nothing', async () => {
  const cases: readonly [readonly string[], number, string][] = [
    [['channel', 'promote', 'node:staging', '--to', 'prodction', '--reason', 'x'], 3, 'production'],
    [['channel', 'promote', 'node:staging', '--to', 'latest', '--reason', 'x'], 4, 'cannot be set'],
    [
      ['channel', 'promote', 'other:staging', '--to', 'node:production', '--reason', 'x'],
      2,
      'is not a version of node',
    ],
    [['channel', 'promote', 'node:staging', '--to', 'production', '--reason', ''], 2, ''],
    [
      ['channel', 'promote', 'node:staging', '--to', 'production', '--reason', 'x', '--override', 'scan'],
      2,
      '--override-reason',
    ],
    [['policy', 'check', 'imago.yaml'], 2, 'not known'],
    [['policy', 'check', 'missing.yaml'], 2, 'not found'],
    [['image', 'attest', 'node:staging', 'imago.yaml'], 2, 'not JSON'],
    [['image', 'approve', 'node:staging', '--to', 'production'], 4, 'token'],
    [['resolve', 'node', '--kubernetes', '1.99'], 3, '1.34.2'],
    [['resolve', 'node:production', '--at', 'yesterday'], 2, 'not a time'],
    [['release', 'missing.yaml', '--reason', 'x'], 2, 'not found'],
  ];
  const before = await imago.json(['channel', 'history', 'node']);
  for (const [words, code, says] of cases) {
    const ended = await imago.run(words);
    expect({ words, code: ended.code }).toEqual({ words, code });
    expect(ended.err).toContain(says);
  }
  expect(await imago.json(['channel', 'history', 'node'])).toEqual(before);
});
