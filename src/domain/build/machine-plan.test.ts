import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Lock, LockedInput } from '../lock/lock.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { planMachine } from './machine-plan.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const input = (more: Partial<LockedInput>): LockedInput => ({
  ...{
    kind: 'base',
    name: 'plain',
    version: '1.0.0',
    sha256: 'a'.repeat(64),
    sizeBytes: 1,
    source: 'image:plain',
  },
  ...more,
});
const tool = input({ kind: 'binary', name: 'tool', sha256: 'b'.repeat(64), source: 'file:tool' });

function lock(change: Partial<Recipe> = {}, inputs: readonly LockedInput[] = [input({}), tool]): Lock {
  const recipe: Recipe = {
    ...{ name: 'made', numbering: 'semver', os: 'linux', architecture: 'x64', method: 'machine' },
    components: [{ name: 'tool', version: '1.0.0', from: { file: 'tool' }, to: '/usr/bin/tool' }],
    settings: {},
    steps: [
      { name: 'one', run: 'true' },
      { name: 'two', run: 'true', restart: true, timeoutMs: 5 },
    ],
    ...change,
  };
  return { format: 1, rules: 1, epoch: 0, recipe, inputs };
}

const keys = (one: Lock) => planMachine(one, sha256).steps.map(({ key }) => key);

test('a key covers the base, the inputs, and the steps up to its own', () => {
  const [one, two] = keys(lock());
  const [same, other] = keys(
    lock({
      steps: [
        { name: 'renamed', run: 'true' },
        { name: 'two', run: 'false' },
      ],
    }),
  );
  expect(same).toBe(one);
  expect(other).not.toBe(two);
  for (const inputs of [
    [input({ sha256: 'c'.repeat(64) }), tool],
    [input({}), { ...tool, sha256: 'c'.repeat(64) }],
  ])
    expect(keys(lock({}, inputs))[0]).not.toBe(one);
  expect(keys(lock({ disk: { sizeBytes: 2 ** 30 } }))[0]).not.toBe(one);
  expect(keys(lock({ notes: 'x', tests: [{ name: 'x', run: 'true' }] }))).toEqual([one, two]);
});

test('a step has the digest of its script, which may be an input', () => {
  const file = input({ kind: 'config', name: 'one.sh', sha256: 'd'.repeat(64) });
  const { steps } = planMachine(
    lock({ steps: [{ name: 'one', file: 'one.sh' }] }, [input({}), tool, file]),
    sha256,
  );
  expect(steps).toMatchObject([
    { digest: 'd'.repeat(64), script: file, restart: false, timeoutMs: 1_800_000 },
  ]);
  expect(planMachine(lock(), sha256).steps[1]).toMatchObject({
    restart: true,
    timeoutMs: 5,
    digest: sha256('true'),
  });
  expect(() => planMachine(lock({ steps: [{ name: 'one', file: 'gone.sh' }] }), sha256)).toThrow(/gone\.sh/);
});

test('a lock without a base cannot be built', () => {
  expect(() => planMachine(lock({ base: { image: 'plain' } }, [tool]), sha256)).toThrow(
    expect.objectContaining({ code: 'lock-stale', hint: expect.stringContaining('imago image import') }),
  );
});
