// Explains a request that no endpoint serves: the methods that the path has, or the nearest path.
import { contractOf, endpointNames } from '../../api/contract/contract.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nearest } from '../../domain/value/suggest.ts';

/** The only path that needs no token. */
export const documentPath = '/v1/openapi.json';

interface Place {
  readonly methods: readonly string[];
  readonly segments: readonly string[];
  readonly path: string;
}

export function unknownPath(method: string, path: string): ImagoError {
  const allow = methodsAt(path);
  if (allow.length > 0) {
    return new ImagoError('api-method-unknown', `${path} does not take ${method}.`, {
      httpStatus: 405,
      hint: `It takes ${allow.join(', ')}.`,
      details: { allow: allow.join(', ') },
    });
  }
  const near = nearestPath(path);
  return new ImagoError(
    'api-path-unknown',
    `There is no path ${path}.`,
    near === undefined ? {} : { hint: near },
  );
}

function methodsAt(path: string): readonly string[] {
  const methods = allPlaces()
    .filter((place) => fits(place.segments, path.split('/')))
    .flatMap((place) => place.methods);
  const withHead = methods.includes('GET') ? ['HEAD', ...methods] : methods;
  return [...new Set(withHead)].sort();
}

/** Returns the nearest path, with the given segments in place of its parameters. */
function nearestPath(path: string): string | undefined {
  const given = path.split('/');
  const filled = allPlaces().map(({ segments }) =>
    segments.map((segment, index) => (isParameter(segment) ? (given[index] ?? segment) : segment)).join('/'),
  );
  const [near] = nearest(path, filled, 1);
  return near === undefined ? undefined : `Did you mean \`${near}\`?`;
}

function allPlaces(): readonly Place[] {
  const places = endpointNames.map(contractOf).map(({ url, method }) => ({ path: url, methods: [method] }));
  const document = { path: documentPath, methods: ['GET'] };
  return [...places, document].map(({ path, methods }) => ({ path, methods, segments: path.split('/') }));
}

function fits(segments: readonly string[], given: readonly string[]): boolean {
  if (segments.length !== given.length) return false;
  return segments.every((segment, index) =>
    isParameter(segment) ? given[index] !== '' : segment === given[index],
  );
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
