// Writes the pages of a disk to the address that Azure grants for it, and asks which pages it has. The address carries
// its right, so that it is in no error.
import { createHash } from 'node:crypto';
import { defaultRetry, retryAfterMs, withRetry } from '../../../async/retry.ts';
import type { Extent } from '../../../disk/bytes/extent.ts';
import { joinExtents } from '../../../disk/bytes/extent.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { single } from '../arm/arm-error.ts';
import type { HttpReply, Transport } from '../arm/transport.ts';

const apiVersion = '2021-12-02';

export interface PageBlob {
  /** Azure compares the bytes with their MD5. */
  write(offset: number, bytes: Buffer): Promise<void>;
  /** The pages that were written, in order. */
  pages(): Promise<readonly Extent[]>;
}

export function openPageBlob(transport: Transport, address: string, signal: AbortSignal): PageBlob {
  const send = (method: string, comp: string, headers: Record<string, string>, body?: Buffer) =>
    withRetry(defaultRetry, signal, async () => {
      const url = new URL(address);
      url.searchParams.set('comp', comp);
      const all = { 'x-ms-version': apiVersion, 'x-ms-date': new Date().toUTCString(), ...headers };
      return accepted(await transport.send({ method, url, headers: all, body, signal }), comp);
    });
  return {
    async write(offset, bytes) {
      await send(
        'PUT',
        'page',
        {
          'x-ms-page-write': 'update',
          'x-ms-range': `bytes=${offset}-${offset + bytes.length - 1}`,
          'content-md5': createHash('md5').update(bytes).digest('base64'),
        },
        bytes,
      );
    },
    async pages() {
      const text = (await send('GET', 'pagelist', {})).body.toString('utf8');
      const ranges = text.matchAll(/<PageRange>\s*<Start>(\d+)<\/Start>\s*<End>(\d+)<\/End>/g);
      const found = [...ranges].map(([, start, end]) => ({
        offset: Number(start),
        length: Number(end) + 1 - Number(start),
      }));
      return [...joinExtents(found)];
    },
  };
}

function accepted(reply: HttpReply, comp: string): HttpReply {
  const { status, headers } = reply;
  if (status < 300) return reply;
  const code = single(headers['x-ms-error-code']) ?? `status ${status}`;
  const waitMs = retryAfterMs(single(headers['retry-after']), Date.now());
  const requestId = single(headers['x-ms-request-id']) ?? 'none';
  throw new ImagoError(
    'provider-failed',
    `Azure refused ${comp} of a disk: ${code} (request ${requestId}).`,
    {
      retryable: status >= 500 || status === 429,
      details: {
        status,
        azureCode: code,
        requestId,
        ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
      },
    },
  );
}

/** Whether the extents, which are sorted and do not touch, hold all of the range. */
export function holds(extents: readonly Extent[], offset: number, length: number): boolean {
  let low = 0;
  let high = extents.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { offset: start, length: size } = extents[middle] as Extent;
    if (start + size <= offset) low = middle + 1;
    else high = middle;
  }
  const found = extents[low];
  return found !== undefined && found.offset <= offset && found.offset + found.length >= offset + length;
}
