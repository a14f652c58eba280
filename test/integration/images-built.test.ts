// A version that the product built, signed and pushed by its own commands, judged by what others verify and copy with:
// cosign for signature and provenance, oras for what is attached, and another installation that trusts the key.
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readLockFile } from '../../src/build/lock/lock-file.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { cacheFolders, requireTool } from '../../src/host/tools/tools.ts';
import { firstBuildMs } from '../support/build-fixture.ts';
import { startRegistry, type TestRegistry } from '../support/docker-registry.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { newPublicKey } from '../support/public-key.ts';
import { sharedBuildCache, writeTestRecipe } from '../support/test-recipe.ts';

let imago: Imago;
let other: Imago;
let registry: TestRegistry;
let built: { readonly version: string; readonly digest: string };
let pushed = '';
let recipe: string;
let env: Record<string, string>;
let keysBefore: readonly Key[];

interface Key {
  readonly id: string;
  readonly signs: boolean;
}

async function keysOf(of: Imago): Promise<readonly Key[]> {
  return (await of.json<{ items: readonly Key[] }>(['keys', 'list'])).items;
}

interface Statement {
  readonly predicateType: string;
  readonly subject: readonly { readonly digest: { readonly sha256: string } }[];
  readonly predicate: {
    readonly buildDefinition: {
      readonly resolvedDependencies: readonly { readonly digest: { readonly sha256: string } }[];
    };
    readonly runDetails: { readonly metadata: { readonly invocationId: string } };
  };
}

beforeAll(async () => {
  [imago, other, registry] = await Promise.all([createImago(), createImago(), startRegistry()]);
  await fetchTools({ group: 'disk' });
  const cache = join(imago.folder, 'cache');
  await mkdir(cache);
  await mkdir(sharedBuildCache(), { recursive: true });
  await symlink(sharedBuildCache(), join(cache, 'build'));
  await symlink(join(cacheFolders()[0] ?? '', 'tools'), join(cache, 'tools'));
  recipe = await writeTestRecipe(imago.folder);
  env = { IMAGO_PROVIDER: 'local', IMAGO_CACHE: cache };
  await imago.json(['recipe', 'lock', recipe], { env });
  keysBefore = await keysOf(imago);
  built = await imago.json(['build', recipe]);
  const to = `${registry.host}/images/tested`;
  pushed = (await imago.json<{ to: string }>(['image', 'push', `tested:${built.version}`, to])).to;
}, firstBuildMs);

afterAll(async () => {
  await Promise.all([imago?.end(), other?.end()]);
  await registry?.[Symbol.asyncDispose]();
});

async function cosign(verb: string, key: string, ...words: readonly string[]): Promise<string> {
  const file = await imago.writeFile('key.pub', key);
  const common = ['--key', file, '--insecure-ignore-tlog', '--allow-http-registry'];
  const { stdout } = await runTool(await requireTool('cosign'), [verb, ...common, ...words, pushed], {
    env: { HOME: imago.folder },
  });
  return stdout.toString();
}

async function oras<T>(...words: readonly string[]): Promise<T> {
  const { stdout } = await runTool(await requireTool('oras'), [...words, '--format', 'json']);
  return JSON.parse(stdout.toString()) as T;
}

const publicKey = async () => (await imago.run(['keys', 'show'])).out;

test('the first build makes a signing key and signs with it', async () => {
  expect(keysBefore).toEqual([]);
  const keys = await keysOf(imago);
  expect(keys).toMatchObject([{ signs: true }]);
  const shown = await imago.json(['image', 'show', `tested:${built.version}`]);
  expect(shown).toMatchObject({ signatures: [{ key: keys[0]?.id, counts: true }] });
});

test(
  'with IMAGO_SIGN=no, a build makes no key and no signature',
  async () => {
    const unsigned = await createImago();
    try {
      const same = await unsigned.json<typeof built>(['build', recipe], {
        env: { ...env, IMAGO_SIGN: 'no' },
      });
      expect(same).toMatchObject({ digest: built.digest });
      expect(await keysOf(unsigned)).toEqual([]);
      const { signatures = [] } = await unsigned.json<{ signatures?: readonly object[] }>([
        ...['image', 'show', `tested:${same.version}`],
      ]);
      expect(signatures).toEqual([]);
    } finally {
      await unsigned.end();
    }
  },
  firstBuildMs,
);

test('a version with the newest packages is not behind, and a promotion compares it for the gate `fresh`', async () => {
  const policy = 'version: 1\nchannels:\n  staging:\n    fresh: { security: 60d }\n';
  const file = await imago.writeFile('policy.yaml', policy);
  await imago.json(['policy', 'set', file, '--reason', 'fresh']);
  const promote = ['channel', 'promote', `tested:${built.version}`, '--to', 'staging', '--reason', 'fresh'];
  const planned = await imago.json<{ plan: readonly string[] }>([...promote, '--dry-run']);
  expect(planned.plan).toContainEqual(expect.stringContaining('were not compared with their archive'));
  const promoted = await imago.json(promote);
  const gate = {
    gate: 'fresh',
    passed: true,
    value: expect.stringMatching(/^none of \d+ packages is behind/),
  };
  expect(promoted).toMatchObject({ gates: [expect.objectContaining(gate)] });
  const { behind, packages, suite } = await imago.json<{ behind: object[]; packages: number; suite: string }>(
    [...['image', 'outdated', `tested:${built.version}`]],
  );
  const inventory = await imago.run(['image', 'sbom', `tested:${built.version}`]);
  const purls = new Set(inventory.out.match(/pkg:deb\/debian\/[^"@]+@[^"]+/g));
  expect({ behind, packages, suite }).toEqual({ behind: [], packages: purls.size, suite: 'trixie' });
});

test('cosign accepts signature and provenance by this key and by no other, and the provenance has every input', async () => {
  expect(await cosign('verify', await publicKey())).toContain(built.digest);
  const type = ['--type', 'slsaprovenance1'];
  const [line = ''] = (await cosign('verify-attestation', await publicKey(), ...type)).split('\n');
  const { payload } = JSON.parse(line) as { payload: string };
  const statement = JSON.parse(Buffer.from(payload, 'base64').toString()) as Statement;
  expect(statement.predicateType).toBe('https://slsa.dev/provenance/v1');
  expect(statement.subject.map(({ digest }) => `sha256:${digest.sha256}`)).toEqual([built.digest]);
  const { locks } = readLockFile(await readFile(join(imago.folder, 'imago.lock'), 'utf8'), 'imago.lock');
  const inputs = locks.flatMap((lock) => lock.inputs.map(({ sha256 }) => sha256));
  const named = statement.predicate.buildDefinition.resolvedDependencies.map(({ digest }) => digest.sha256);
  expect(named.toSorted()).toEqual(inputs.toSorted());
  expect(await imago.json(['image', 'provenance', 'tested'])).toEqual(statement);
  for (const words of [['verify'], ['verify-attestation', ...type]] as const) {
    const [verb, ...rest] = words;
    await expect(cosign(verb, newPublicKey(), ...rest)).rejects.toMatchObject({ code: 'tool-failed' });
  }
});

test('a copy that oras makes, with all that is attached, counts as signed where the key is trusted', async () => {
  const copy = `${registry.host}/copies/tested:${built.version}`;
  const plain = ['--from-plain-http', '--to-plain-http'];
  await runTool(await requireTool('oras'), ['cp', '-r', ...plain, pushed, copy]);
  const listed = (name: string) =>
    oras<{ manifests: readonly { digest: string }[] }>('discover', '--plain-http', name);
  const digests = async (name: string) =>
    (await listed(name)).manifests.map(({ digest }) => digest).toSorted();
  expect(await digests(copy)).toEqual(await digests(pushed));
  const pull = ['image', 'pull', copy];
  expect((await other.run(pull)).code).toBe(4);
  const key = await other.writeFile('farm.pub', await publicKey());
  await other.json(['keys', 'trust', key, '--owner', 'farm']);
  expect(await other.json(pull)).toMatchObject({ digest: built.digest, version: built.version });
  const statement = await imago.json<Statement>(['image', 'provenance', 'tested']);
  expect(await other.json(['image', 'provenance', 'tested'])).toEqual(statement);
  expect(await other.json(['image', 'notes', 'tested'])).toEqual(
    await imago.json(['image', 'notes', 'tested']),
  );
});
