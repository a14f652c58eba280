import { expect, test } from 'vitest';
import { ArmClient } from '../arm/client.ts';
import { OperationBook } from '../arm/operation-book.ts';
import type { HttpReply, HttpRequest } from '../arm/transport.ts';
import type { AzureContext } from '../context.ts';
import { azurePools } from './pools.ts';

const options = { signal: new AbortController().signal, epoch: 1 };

/** A scale set that someone else scales right before the first write. */
function contested() {
  const sent: HttpRequest[] = [];
  let etag = 1;
  const clock = { now: () => 0, sleep: async () => undefined };
  const transport = {
    async send(request: HttpRequest): Promise<HttpReply> {
      sent.push(request);
      const isWrite = request.method === 'PATCH';
      if (isWrite && sent.filter(({ method }) => method === 'PATCH').length === 1) etag += 1;
      const isOld = isWrite && request.headers?.['if-match'] !== String(etag);
      const set = {
        ...{ id: '/set', name: 'web', location: 'westeurope', etag: String(etag) },
        ...{ sku: { name: 'small', capacity: etag + 1 }, properties: { provisioningState: 'Succeeded' } },
      };
      const error = { error: { code: 'PreconditionFailed', message: 'old' } };
      return {
        status: isOld ? 412 : 200,
        headers: {},
        body: Buffer.from(JSON.stringify(isOld ? error : set)),
      };
    },
    close: () => undefined,
  };
  const where = { endpoint: 'https://management.azure.com', subscription: 's', group: 'g' };
  const arm = new ArmClient({ ...where, transport, clock, token: async () => 'token' });
  const book = new OperationBook(undefined, () => 0);
  const pools = azurePools({ arm, book, ownGallery: 'imago' } as Partial<AzureContext> as AzureContext);
  const writes = () => sent.filter(({ method }) => method === 'PATCH');
  return { pools, writes };
}

test('a write that someone else was faster than is made again on what they wrote', async () => {
  const { pools, writes } = contested();
  await pools.setCapacity('web', 9, {}, options);
  expect(writes().map(({ headers }) => headers?.['if-match'])).toEqual(['1', '2']);
});

test('with a condition, it is a conflict', async () => {
  const { pools, writes } = contested();
  const etag = (await pools.getPool('web', options))?.etag ?? '';
  await expect(pools.setCapacity('web', 9, { ifMatch: etag }, options)).rejects.toMatchObject({
    code: 'provider-conflict',
    retryable: false,
  });
  expect(writes()).toHaveLength(1);
});
