import { expect, test } from 'vitest';
import { readCursor, toPage } from './page.ts';

const rows = Array.from({ length: 5 }, (_, index) => ({ name: `n${index}`, id: index }));

test('a page ends with the key that the next one begins after', () => {
  const page = toPage(
    'things',
    { limit: 2 },
    rows.slice(0, 3),
    ({ name, id }) => [name, id],
    ({ name }) => name,
  );
  expect(page.items).toEqual(['n0', 'n1']);
  const cursor = page.next ?? '';
  expect(readCursor('things', { limit: 2, cursor }, ['string', 'number'])).toEqual(['n1', 1]);
});

test('the last page has no next, even if it is full', () => {
  const page = toPage(
    'things',
    { limit: 5 },
    rows,
    ({ id }) => [id],
    ({ id }) => id,
  );
  expect(page).toEqual({ items: [0, 1, 2, 3, 4] });
});

test.each([
  ['of another list', Buffer.from('["others","n1",1]').toString('base64url')],
  ['with other keys', Buffer.from('["things",1,"n1"]').toString('base64url')],
  ['with a key too few', Buffer.from('["things","n1"]').toString('base64url')],
  ['that is not a list', Buffer.from('{"things":1}').toString('base64url')],
  ['that is nothing', ''],
  ['that someone made up', '../../etc/passwd'],
])('a cursor %s is refused', (_, cursor) => {
  expect(() => readCursor('things', { limit: 2, cursor }, ['string', 'number'])).toThrow(
    expect.objectContaining({ code: 'api-cursor-invalid' }),
  );
});
