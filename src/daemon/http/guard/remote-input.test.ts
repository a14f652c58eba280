import { describe, expect, test } from 'vitest';
import { refuseHostFiles } from './remote-input.ts';

const recipe = { name: 'spy', components: [{ name: 'a', from: { folder: 'https://host/x' } }] };
const hotfix = { from: 'node:1.0.0', lockDigest: 'sha256:0', set: ['runc=1'] };
const opened = [{ folder: 'https://a/../../..' }, { folder: '/' }, { roots: ['/'] }, { roots: [] }];
const shapes: readonly [string, (one: object) => object][] = [
  ['a build', (one) => one],
  ['a matrix of builds', (one) => ({ image: 'spy', builds: [{ recipe }, one] })],
  ['a matrix of releases', (one) => ({ image: 'spy', variants: [{ recipe }, one] })],
  ['a release of newer inputs', (one) => ({ kind: 'release', input: one })],
  ['a matrix of newer inputs', (one) => ({ kind: 'release-matrix', input: { variants: [one] } })],
];
const refused = expect.objectContaining({ code: 'recipe-local-input' });
const check = (input: object) => refuseHostFiles(JSON.parse(JSON.stringify(input)));

describe.each(shapes)('%s for a caller of another host', (_, shape) => {
  test.each(opened)('opens no directory with %j', (place) => {
    expect(() => check(shape({ recipe: { ...recipe, ...place } }))).toThrow(refused);
    expect(() => check(shape({ hotfix: { ...hotfix, ...place } }))).toThrow(refused);
  });

  test('leaves no failed build on the host', () => {
    expect(() => check(shape({ recipe, keepFailed: true }))).toThrow(refused);
  });

  test('passes without a directory', () => {
    expect(() => check(shape({ recipe }))).not.toThrow();
    expect(() => check(shape({ hotfix }))).not.toThrow();
  });
});

test.each([null, 'text', [], { builds: 'x' }])('leaves %j to the operation kind', (input) => {
  expect(() => refuseHostFiles(input)).not.toThrow();
});
