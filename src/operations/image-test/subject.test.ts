// What a test knows of a version: the recipe's part comes out of the lock that it was built from.
import { expect, it } from 'vitest';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { OperationDeps } from '../common/deps.ts';
import { testSubject } from './subject.ts';

const version = { image: 'node', version: '1.0.0', digest: 'sha256:a' };

function deps(origin: object, recipe: Partial<Recipe>): OperationDeps {
  return {
    catalogue: { getVersion: async () => ({ ...version, origin }) },
    images: {
      records: { read: async () => undefined },
      locks: { read: async (digest: string) => (digest === 'sha256:lock' ? { recipe } : undefined) },
    },
  } as unknown as OperationDeps;
}

const recipe: Partial<Recipe> = {
  tests: [{ name: 'up', run: 'true' }],
  budgets: { sizeBytes: 1 },
  expect: { ports: [9100], setuid: ['/opt/tool'] },
  firmware: ['uefi'],
};

it('tests, budgets and what may pass are those of the locked recipe', async () => {
  const built = deps({ kind: 'built', lockDigest: 'sha256:lock' }, recipe);
  expect(await testSubject(built, version)).toEqual(recipe);
});

it('a version that was not built here has none, and nothing passes beyond what the checks know', async () => {
  const imported = deps({ kind: 'imported' }, recipe);
  expect(await testSubject(imported, version)).toEqual({
    ...{ tests: [], budgets: {}, expect: {} },
    firmware: ['uefi', 'bios'],
  });
});
