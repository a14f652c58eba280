import { expect, test } from 'vitest';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Clock } from '../../../ports/clock.ts';
import { at } from './address.ts';
import { ArmClient } from './client.ts';
import { OperationBook } from './operation-book.ts';
import type { HttpReply, HttpRequest } from './transport.ts';

type Answer = Partial<Omit<HttpReply, 'body'>> & { readonly json?: unknown };

const endpoint = 'https://management.azure.com';
const gallery = at('galleries', 'g');
const { signal } = new AbortController();

/** A client whose requests are answered in order, and with the last answer from then on. */
function scripted(...answers: readonly (Answer | Error)[]) {
  const sent: HttpRequest[] = [];
  const slept: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
  const arm = new ArmClient({
    ...{ endpoint, subscription: 's', group: 'rg', clock, token: async () => 'the-token' },
    transport: {
      async send(request) {
        const answer = answers[Math.min(sent.length, answers.length - 1)] ?? {};
        sent.push(request);
        if (answer instanceof Error) throw answer;
        const { status = 200, headers = {}, json } = answer;
        return { status, headers, body: Buffer.from(json === undefined ? '' : JSON.stringify(json)) };
      },
      close: () => undefined,
    },
  });
  return { arm, sent, slept };
}

function refused(status: number, code: string, message = 'no', headers = {}): Answer {
  return { status, headers: { 'x-ms-request-id': 'r-1', ...headers }, json: { error: { code, message } } };
}

async function thrownBy(work: Promise<unknown>): Promise<ImagoError> {
  const thrown = await work.catch((error: unknown) => error);
  if (thrown instanceof ImagoError) return thrown;
  throw new Error('Nothing was refused.');
}

const lost = new ImagoError('provider-no-reply', 'lost');

test('asks with the api-version of the resource, and adds a list from all of its pages', async () => {
  const next = `${endpoint}/next?%24skiptoken=x&sig=a%2Bb`;
  const { arm, sent } = scripted({ json: { value: [1], nextLink: next } }, { json: { value: [2] } });
  expect(await arm.list(gallery, signal)).toEqual([1, 2]);
  expect(sent[0]?.url.href).toBe(
    `${endpoint}/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/galleries/g?api-version=2024-03-03`,
  );
  expect(sent[1]?.url.href).toBe(next);
});

test.each([
  [401, 'InvalidAuthenticationTokenTenant', 'wrong issuer', 'provider-sign-in-failed', /AZURE_TENANT_ID/],
  [
    403,
    'AuthorizationFailed',
    "does not have authorization to perform action 'Microsoft.Compute/galleries/write' over",
    'provider-forbidden',
    /Microsoft\.Compute\/galleries\/write/,
  ],
  [404, 'ResourceGroupNotFound', 'no group', 'provider-not-found', /az group create/],
  [409, 'OperationNotAllowed', 'exceeding quota limits of Core', 'provider-quota', /quota/],
  [409, 'PropertyChangeNotAllowed', 'osType', 'provider-conflict', /^$/],
  [400, 'InvalidParameter', 'The name is wrong', 'input-invalid', /./],
] as const)('status %i %s is %s', async (status, code, message, expected, hint) => {
  const { arm } = scripted(refused(status, code, message));
  const error = await thrownBy(arm.put(gallery, {}, signal));
  expect(error.code).toBe(expected);
  expect(error.message).toContain('(request r-1)');
  expect(error.details).toMatchObject({ azureCode: code, requestId: 'r-1' });
  expect(error.hint ?? '').toMatch(hint);
  expect(JSON.stringify(error.toRecord())).not.toContain('the-token');
});

test('a read is repeated after a lost reply and an unavailable service, a write is not', async () => {
  const read = scripted(lost, refused(503, 'ServiceUnavailable'), { json: { name: 'g' } });
  expect(await read.arm.get(gallery, signal)).toEqual({ name: 'g' });
  const write = scripted(lost);
  expect((await thrownBy(write.arm.put(gallery, {}, signal))).code).toBe('provider-no-reply');
  expect(write.sent).toHaveLength(1);
});

test('a throttled kind waits for as long as Azure says, also for those who come later', async () => {
  const throttled = refused(429, 'TooManyRequests', 'slow', { 'retry-after': '7' });
  const { arm, slept } = scripted(throttled, { json: {} });
  await arm.put(gallery, {}, signal);
  expect(slept).toEqual([7000]);
  const long = scripted(refused(429, 'TooManyRequests', 'slow', { 'retry-after': '900' }), { json: {} });
  const error = await thrownBy(long.arm.put(gallery, {}, signal));
  expect(error.details?.retryAfterMs).toBe(900_000);
  expect((await thrownBy(long.arm.put(gallery, {}, signal))).code).toBe('provider-throttled');
  expect(long.sent).toHaveLength(1);
  expect(await long.arm.get(at('disks', 'd'), signal)).toEqual({});
});

test('before a budget is empty, requests are spaced', async () => {
  const low = {
    'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/GetGallery3Min;1,Microsoft.Compute/X;99',
  };
  const { arm, slept } = scripted({ headers: low, json: {} });
  await arm.get(gallery, signal);
  await arm.get(gallery, signal);
  expect(slept).toEqual([5000]);
});

test('an operation is polled until it ends, and its failure keeps code and reason', async () => {
  const poll = `${endpoint}/op?t=1&s=abc%2F`;
  const started = { status: 201, headers: { 'azure-asyncoperation': poll }, json: { name: 'v' } };
  const running = { headers: { 'retry-after': '3' }, json: { status: 'InProgress' } };
  const done = scripted(started, running, { json: { status: 'Succeeded' } });
  expect(await done.arm.finish(await done.arm.put(gallery, {}, signal), signal)).toEqual({ name: 'v' });
  expect(done.sent[1]?.url.href).toBe(poll);
  expect(done.slept).toEqual([3000]);
  const failed = { json: { status: 'Failed', error: { code: 'ReplicationFailed', message: 'No room.' } } };
  const other = scripted(started, failed);
  const error = await thrownBy(other.arm.finish(await other.arm.put(gallery, {}, signal), signal));
  expect(error.message).toContain('ReplicationFailed: No room.');
});

test('the token goes to no other host, whatever a reply names', async () => {
  const elsewhere = { status: 202, headers: { 'azure-asyncoperation': 'https://example.com/op' } };
  const { arm, sent } = scripted(elsewhere);
  await expect(arm.finish(await arm.delete(gallery, signal), signal)).rejects.toThrow('example.com');
  expect(sent).toHaveLength(1);
});

test('why an operation failed is known after a restart', async () => {
  const { mkdtemp, rm } = await import('node:fs/promises');
  const folder = await mkdtemp('/tmp/imago-book-');
  try {
    const file = `${folder}/azure/operations.json`;
    const operation = { poll: `${endpoint}/op`, what: 'PUT galleries g' };
    await new OperationBook(file, () => 0).note('/Galleries/G', { body: undefined, operation });
    const { arm } = scripted({ json: { status: 'Failed', error: { code: 'Full', message: 'No room.' } } });
    const again = new OperationBook(file, () => 0);
    expect(await again.failureOf(arm, '/galleries/g', signal)).toMatchObject({ code: 'Full' });
    expect(await again.failureOf(arm, '/galleries/other', signal)).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
