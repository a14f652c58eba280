// Shows that a wrong path or method is reported with the right one.
import { expect, test } from 'vitest';
import { unknownPath } from './unknown-path.ts';

test('lists the methods of an existing path', () => {
  const error = unknownPath('PATCH', '/v1/pools/web');
  expect(error).toMatchObject({
    code: 'api-method-unknown',
    httpStatus: 405,
    details: { allow: 'DELETE, GET, HEAD' },
  });
  expect(unknownPath('PUT', '/v1/channels/promote').details).toEqual({ allow: 'POST' });
});

test.each([
  ['/v1/pool', '`/v1/pools`'],
  ['/v1/pools/web/scal', '`/v1/pools/web/scale`'],
  ['/v1/operatons', '`/v1/operations`'],
  ['/v1/openapi.jso', '`/v1/openapi.json`'],
])('%s is near to %s', (path, near) => {
  expect(unknownPath('GET', path)).toMatchObject({ code: 'api-path-unknown', httpStatus: 404 });
  expect(unknownPath('GET', path).hint).toContain(near);
});

test('refers to the list of paths if none is near', () => {
  expect(unknownPath('GET', '/wp-login.php').hint).toBe('See docs/api.md for all paths.');
});
