// A wrong path or method is told with what would have been right.
import { expect, test } from 'vitest';
import { unknownPath } from './unknown-path.ts';

test('a path that exists is told with its methods', () => {
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

test('a path that is near to nothing is told where all paths are', () => {
  expect(unknownPath('GET', '/wp-login.php').hint).toBe('See docs/api.md for all paths.');
});
