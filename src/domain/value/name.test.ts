import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import { checkName, isName, likelyName, nameProblem } from './name.ts';

describe('names fit galleries, clusters and DNS', () => {
  test.each(['a', 'node', 'ubuntu-2404-gen2', 'a1', `a${'b'.repeat(62)}`])('%s names an image', (name) => {
    expect(checkName('image', name)).toBe(name);
  });

  test.each([
    '',
    'Node',
    '1node',
    '-node',
    'node-',
    'no_de',
    'no.de',
    'nö',
    'a b',
    'node\n',
    `a${'b'.repeat(63)}`,
  ])('%j names no image', (name) => {
    expect(() => checkName('image', name)).toThrow(expect.objectContaining({ code: 'name-malformed' }));
  });

  test('a pool leaves room for the numbers of its nodes', () => {
    expect(isName('pool', 'p'.repeat(56))).toBe(true);
    expect(nameProblem('pool', 'p'.repeat(57))).toBe('has 57 characters, and 56 are allowed');
  });

  test('a node may be named by its provider, beginning with a digit', () => {
    expect(isName('node', '0-web')).toBe(true);
    expect(isName('pool', '0-web')).toBe(false);
  });
});

test('the hint shows the name that would do', () => {
  expect(() => checkName('image', 'My Node_Image')).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('`my-node-image`') }),
  );
  expect(likelyName('image', '***')).toBeUndefined();
});

test('every accepted name is a DNS label and a gallery definition, and every suggestion is accepted', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 70 }), (text) => {
      const likely = likelyName('image', text);
      if (likely !== undefined) expect(checkName('image', likely)).toBe(likely);
      if (!isName('image', text)) return;
      expect(text).toMatch(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/);
      expect(text).toMatch(/^[^_\W][\w\-._]{0,79}(?<![-.])$/);
    }),
    { examples: [['node-'], ['a'], ['A b']] },
  );
});

test('the error is for people who typed it', () => {
  expect(() => checkName('channel', 'Über')).toThrow(ImagoError);
  try {
    checkName('channel', 'Über');
  } catch (error) {
    expect(error).toMatchObject({ exitCode: 2, httpStatus: 400 });
  }
});
