// The examples for CI, their steps run by a shell as a runner does, against a daemon over TCP and TLS with a token. Only what
// a simulated disk does not have is replaced: the lock of real inputs, the SBOM, and the scanner. The services that get the
// comment are programs that record it. build-remote.test.ts locks and builds real disks over the same connection.
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { collect, createImago, type Imago, recipe } from '../support/imago.ts';
import { testCertificate, testKey } from '../support/tls-fixture.ts';

const root = resolve(import.meta.dirname, '../..');

let imago: Imago;
let env: Record<string, string>;

beforeAll(async () => {
  imago = await createImago();
  const certificate = await imago.writeFile('cert.pem', testCertificate);
  const key = await imago.writeFile('key.pem', testKey);
  await imago.run(['up', '--listen', '127.0.0.1:0', '--tls-cert', certificate, '--tls-key', key]);
  const { listen } = await imago.json<{ listen: string }>(['status']);
  const token = (await imago.run(['token', 'create', '--owner', 'ci', '--role', 'publisher', '-o', 'name']))
    .out;
  const tools = join(imago.folder, 'tools');
  await mkdir(tools);
  await mkdir(join(imago.folder, 'node'));
  await tool(join(tools, 'npm'), 'true');
  await tool(
    join(tools, 'trivy'),
    `printf '%s' '{"SchemaVersion":2,"ArtifactName":"n","Results":[]}' > "$6"`,
  );
  // What the services would get: the last word of one, the file of the other.
  await tool(join(tools, 'gh'), 'test "$1 $2 $3 $4" = "pr comment 7 --body-file" && cp "$5" comment.md');
  await tool(
    join(tools, 'curl'),
    `node -p 'JSON.parse(fs.readFileSync("thread.json")).comments[0].content' > comment.md`,
  );
  await tool(
    join(tools, 'imago'),
    `case "$1 $2" in
      "recipe lock") echo locked; exit ;;
      "image sbom") echo '{"bomFormat":"CycloneDX"}'; exit ;;
    esac
    for word; do shift; test "$word" = --locked || set -- "$@" "$word"; done
    exec "${join(root, 'bin/imago')}" "$@"`,
  );
  env = {
    ...{ PATH: `${tools}:${process.env.PATH}`, IMAGO_URL: `https://${listen}`, IMAGO_TOKEN: token.trim() },
    IMAGO_CA: certificate,
    ...{ HOME: imago.folder, NO_COLOR: '1' },
  };
  const policy = await imago.writeFile(
    'policy.yaml',
    'version: 1\nchannels: {production: {scan: {noneAbove: low}}}\n',
  );
  await imago.json(['policy', 'set', policy, '--reason', 'scans']);
});
afterAll(() => imago.end());

async function tool(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

/** Each step by a shell of its own, as runners do; what they print last. */
async function runSteps(steps: readonly string[], more: Readonly<Record<string, string>>): Promise<string> {
  let printed = '';
  for (const step of steps) {
    if (/imago release/.test(step)) expect(step, 'builds just what was locked').toContain('--locked');
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', step], {
      cwd: imago.folder,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, out, err } = await collect(child);
    expect(code, `${step}\n${out}${err}`).toBe(0);
    printed = out;
  }
  return printed;
}

async function productionAfter(printed: string): Promise<{ kubernetes: string; why: string }> {
  const [, operation = ''] = /imago op watch ([^`]+)`/.exec(printed) ?? [];
  await imago.json(['op', 'watch', operation]);
  const { kubernetes } = await imago.json<{ kubernetes: string }>(['resolve', 'node:production']);
  const { items } = await imago.json<{ items: { why: string }[] }>(['channel', 'history', 'node:production']);
  return { kubernetes, why: items[0]?.why ?? '' };
}

test('GitHub Actions: the steps take the recipe to production, through the scan that they attach', async () => {
  await writeFile(join(imago.folder, 'node', 'imago.yaml'), recipe);
  const text = await readFile(join(root, 'examples/ci/github-actions/release.yaml'), 'utf8');
  const { jobs } = parse(text) as {
    jobs: Record<'release' | 'review', { env: Record<string, string>; steps: { run?: string }[] }>;
  };
  expect(Object.keys(jobs.release.env).sort()).toEqual(['IMAGO_TOKEN', 'IMAGO_URL', 'KUBERNETES', 'WHY']);
  const stepsOf = (job: 'release' | 'review') =>
    jobs[job].steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
  const steps = stepsOf('release');
  expect([...steps, ...stepsOf('review')].join('\n')).not.toContain('${{');
  const printed = await runSteps(steps, { KUBERNETES: '', WHY: 'schedule 1a2b' });
  expect(await productionAfter(printed)).toEqual({ kubernetes: '1.34.2', why: 'schedule 1a2b' });

  await writeFile(join(imago.folder, 'node', 'imago.yaml'), recipe.replace('1.7.24', '1.7.25'));
  await runSteps(stepsOf('review'), { PULL_REQUEST: '7' });
  await expectComment();
});

/** The comment compares what was built and tested with what the release put into production. */
async function expectComment(): Promise<void> {
  const comment = await readFile(join(imago.folder, 'comment.md'), 'utf8');
  expect(comment).toMatch(/^## node:\d+\.\d+\.\d+, against \d+\.\d+\.\d+ in production$/m);
  expect(comment).toMatch(/^\| Tests \| passed \| passed \|$/m);
  expect(comment).toMatch(/^- `✗ scan: needs .*`$/m);
}

test('Azure Pipelines: the same, started by the event of a new Kubernetes version', async () => {
  const text = await readFile(join(root, 'examples/ci/azure-pipelines/release.yaml'), 'utf8');
  const { jobs } = parse(text) as { jobs: { job: string; steps: { script?: string }[] }[] };
  const stepsOf = (name: string) =>
    (jobs.find(({ job }) => job === name)?.steps ?? []).flatMap(({ script }) => script ?? []);
  const steps = stepsOf('release');
  expect([...steps, ...stepsOf('review')].join('\n')).not.toMatch(/\$\(/);
  const printed = await runSteps(steps, { KUBERNETES: '1.34.3', WHY: 'Manual 3c4d' });
  expect(await productionAfter(printed)).toEqual({ kubernetes: '1.34.3', why: 'Manual 3c4d' });

  await writeFile(join(imago.folder, 'node', 'imago.yaml'), recipe.replace('1.7.24', '1.7.26'));
  await runSteps(stepsOf('review'), { SYSTEM_COLLECTIONURI: 'https://dev.example.com/' });
  await expectComment();
});
