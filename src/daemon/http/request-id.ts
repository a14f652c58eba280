// The id that ties a request, its audit row, its log lines and its answer together.
import { randomUUID } from 'node:crypto';

/** The caller's own id when it is harmless, otherwise a new one. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
