import { expect, test } from 'vitest';
import type { Json } from '../../../domain/value/json.ts';
import type { OperationRecord } from '../../../ports/workflow/operation.ts';
import { operationFor } from './operation-for.ts';

function record(kind: string, input: Json, result: Json, step: Json): OperationRecord {
  return {
    ...{ id: '1', kind, subject: 'image/node', by: 'ana', key: 'image/node', input, result },
    ...{ state: 'succeeded', exceptions: [], createdAt: '2026-01-01T00:00:00Z' },
    steps: [{ name: 'lock', state: 'done', attempts: 1, result: step }],
  };
}

const secret = { components: [{ name: 'hush', private: true }] };
const [viewer, admin] = [{ role: 'viewer' }, { role: 'admin' }] as const;

test('who may not build does not read the names of private inputs, in none of its parts', () => {
  const built = record('build', { recipe: secret }, { version: '1.0.0' }, { lock: { recipe: secret } });
  const seen = operationFor(viewer, built);
  expect(JSON.stringify(seen)).not.toContain('hush');
  expect(seen).toMatchObject({ id: '1', state: 'succeeded', result: { version: '1.0.0' } });
  expect(seen.steps).toEqual([{ name: 'lock', state: 'done', attempts: 1 }]);
  expect(operationFor(admin, built)).toBe(built);
});

test('a hotfix names them only in the lock that it made, and is hidden all the same', () => {
  const fixed = record(
    'build',
    { hotfix: { set: ['hush=2'] } },
    { version: '1.0.1' },
    { lock: { recipe: secret } },
  );
  expect(JSON.stringify(operationFor(viewer, fixed))).not.toContain('hush');
});

test('the text of a lock is not shown to everyone', () => {
  const locked = record(
    'recipe-lock',
    { recipe: secret },
    { text: 'name: hush', locks: [] },
    { text: 'hush' },
  );
  expect(JSON.stringify(operationFor(viewer, locked))).not.toContain('hush');
});

test('nor is the text of a recipe that was edited', () => {
  const edited = record('recipe-absorb', { recipe: secret }, { text: 'name: hush', changes: [] }, {});
  expect(JSON.stringify(operationFor(viewer, edited))).not.toContain('hush');
});

test('without private inputs everybody sees it whole', () => {
  const built = record('build', { recipe: { components: [{ name: 'runc' }] } }, {}, {});
  expect(operationFor(viewer, built)).toBe(built);
});
