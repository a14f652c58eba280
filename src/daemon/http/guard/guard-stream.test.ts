import { expect, test } from 'vitest';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { openGuarded } from './guard-stream.ts';

const revoked = new ImagoError('api-unauthenticated', 'The token was revoked.');
const signal = new AbortController().signal;

/** A source that never ends and never looks at the signal. */
function endless(): Response {
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array([1])) }), {
    headers: { 'x-test': 'yes' },
  });
}

test('breaks a stream off when the rights end, even if its source never pauses', async () => {
  let problem: ImagoError | undefined;
  let opened: AbortSignal | undefined;
  const response = await openGuarded({ signal, check: async () => problem, everyMs: 1 }, async (given) => {
    opened = given;
    return endless();
  });
  expect(response.headers.get('x-test')).toBe('yes');
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value).toEqual(new Uint8Array([1]));
  problem = revoked;
  const reading = async () => {
    for (;;) {
      await reader?.read();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await expect(reading()).rejects.toBe(revoked);
  expect(opened?.aborted).toBe(true);
});

test('passes a stream through to its end, and a failed check decides nothing', async () => {
  const check = () => Promise.reject(new Error('the database is restarting'));
  const response = await openGuarded({ signal, check, everyMs: 1 }, async () => new Response('whole'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await response.text()).toBe('whole');
});

test('stops checking when the stream has ended, was cancelled, or could not be opened', async () => {
  let checks = 0;
  const check = async () => {
    checks += 1;
    return undefined;
  };
  const guard = { signal, check, everyMs: 1 };
  await (await openGuarded(guard, async () => new Response('whole'))).text();
  await (await openGuarded(guard, async () => endless())).body?.cancel();
  await expect(openGuarded(guard, () => Promise.reject(revoked))).rejects.toBe(revoked);
  const before = checks;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(checks).toBe(before);
});
