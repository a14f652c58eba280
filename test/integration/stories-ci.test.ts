// The examples for CI, their steps run by a shell as a runner does, against a daemon over TCP with a token. Only what a
// simulated disk does not have is put in their place: the lock of real inputs, the SBOM, and the scanner.
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { collect, createImago, type Imago, recipe } from '../support/imago.ts';

const root = resolve(import.meta.dirname, '../..');

let imago: Imago;
let env: Record<string, string>;

beforeAll(async () => {
  imago = await createImago();
  await imago.run(['up', '--listen', '127.0.0.1:0']);
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
    ...{ PATH: `${tools}:${process.env.PATH}`, IMAGO_URL: `http://${listen}`, IMAGO_TOKEN: token.trim() },
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
    jobs: { release: { env: Record<string, string>; steps: { run?: string }[] } };
  };
  expect(Object.keys(jobs.release.env).sort()).toEqual(['IMAGO_TOKEN', 'IMAGO_URL', 'KUBERNETES', 'WHY']);
  const steps = jobs.release.steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
  expect(steps.join('\n')).not.toContain('${{');
  const printed = await runSteps(steps, { KUBERNETES: '', WHY: 'schedule 1a2b' });
  expect(await productionAfter(printed)).toEqual({ kubernetes: '1.34.2', why: 'schedule 1a2b' });
});

test('Azure Pipelines: the same, started by the event of a new Kubernetes version', async () => {
  const text = await readFile(join(root, 'examples/ci/azure-pipelines/release.yaml'), 'utf8');
  const { jobs } = parse(text) as { jobs: { steps: { script?: string }[] }[] };
  const steps = jobs[0]?.steps.flatMap(({ script }) => (script === undefined ? [] : [script])) ?? [];
  expect(steps.join('\n')).not.toMatch(/\$\(/);
  const printed = await runSteps(steps, { KUBERNETES: '1.34.3', WHY: 'Manual 3c4d' });
  expect(await productionAfter(printed)).toEqual({ kubernetes: '1.34.3', why: 'Manual 3c4d' });
});
