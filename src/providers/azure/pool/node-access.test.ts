import { expect, test } from 'vitest';
import { toFrames } from '../../../domain/node/console-frame.ts';
import { splitWords, withWords } from '../../../domain/node-config/words.ts';
import type { AzureContext } from '../context.ts';
import { azureAccess } from './node-access.ts';
import { decodeConfig, encodeConfig } from './scale-set.ts';

const signal = new AbortController().signal;
const command = { script: 'true', timeoutMs: 1000 };

/** A node of a flexible scale set. `look` is called each time that its console is read, and returns what it says. */
function nodeWith(look: (userData: string) => readonly string[]) {
  let userData = encodeConfig(withWords('{}', { own: true }));
  const node = {
    ...{ id: '/vm', name: 'web-1', instanceId: 'web-1' },
    properties: { vmId: 'm1', instanceView: { statuses: [{ code: 'PowerState/running' }] } },
  };
  const arm = {
    list: async ({ type }: { readonly type?: string }, _signal: unknown, query?: object) =>
      query === undefined ? [{ name: 'web', tags: { 'imago-made': 'pool' }, type }] : [node],
    get: async () => ({ ...node, properties: { ...node.properties, userData } }),
    post: async () => undefined,
    async patch(_machine: unknown, body: { readonly properties: { readonly userData: string } }) {
      userData = body.properties.userData;
    },
    finish: async () => ({ serialConsoleLogBlobUri: 'https://blob.test/console' }),
  };
  const transport = {
    send: async () => ({
      ...{ status: 200, headers: {} },
      body: Buffer.from(look(decodeConfig(userData)).join('\n')),
    }),
  };
  const clock = { now: () => 0, sleep: async () => undefined };
  const access = azureAccess({ arm, transport, clock } as unknown as AzureContext);
  return {
    access,
    set: (text: string) => (userData = encodeConfig(text)),
    now: () => splitWords(decodeConfig(userData)),
  };
}

function answerTo(userData: string): readonly string[] {
  const { id } = splitWords(userData).words.command ?? {};
  return toFrames('answer', JSON.stringify({ id, exitCode: 0, stdout: 'done', stderr: '' }));
}

test('a config that is set while a command runs stays, and the command goes', async () => {
  const node = nodeWith((userData) => {
    const { words } = splitWords(userData);
    node.set(withWords('{"new":1}', words));
    return answerTo(userData);
  });
  expect(await node.access.run('m1', command, signal)).toMatchObject({ exitCode: 0, stdout: 'done' });
  expect(node.now()).toEqual({ config: '{"new":1}', words: { own: true } });
});

test('a command that another call left is not put back, which would run it again', async () => {
  const node = nodeWith(answerTo);
  node.set(withWords('{}', { own: true, command: { id: 'left', ...command } }));
  await node.access.run('m1', command, signal);
  expect(node.now()).toEqual({ config: '{}', words: { own: true } });
});

test('what a node writes to its console besides the answer changes nothing', async () => {
  const odd = ['{', 'null', '"x"', '{"id":1}'].flatMap((json) => toFrames('answer', json));
  const node = nodeWith((userData) => [...odd, ...answerTo(userData)]);
  expect(await node.access.run('m1', command, signal)).toMatchObject({ exitCode: 0 });
});
