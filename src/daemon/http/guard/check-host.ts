// Keeps web pages from reaching a daemon on this machine by a name of their own that they point at 127.0.0.1
// (DNS rebinding): a request to a loopback address must also call it so.
import { isLoopbackAddress, isLoopbackHost } from '../../../domain/access/loopback.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Transport } from './caller.ts';

export function checkHost(
  transport: Transport,
  host: string | undefined,
  allowed: ReadonlySet<string>,
): void {
  if (transport.kind === 'socket' || !isLoopbackAddress(transport.localAddress)) return;
  const name = hostName(host ?? '');
  if (isLoopbackHost(name) || allowed.has(name)) return;
  throw new ImagoError(
    'api-host-refused',
    `The daemon does not answer for the host ${JSON.stringify(name)}.`,
    {
      httpStatus: 421,
    },
  );
}

/** The host without its port, in lower case. */
function hostName(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim().toLowerCase());
  return match?.[1] ?? match?.[2] ?? host;
}
