// Stores the token for a server, after the server accepted it.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { changeContexts, readContexts, requireContext } from '../../launcher/contexts.ts';
import { readText } from '../input/read-text.ts';
import { type CommandSpec, type Invocation, text } from '../spec/command.ts';

export const command: CommandSpec = {
  details:
    'The token is read from the terminal without showing it, from --token-file, or from standard input, and stored in a file that only you can read. Create one on the host of the daemon with `imago token create`.',
  args: [
    { name: 'NAME', description: 'Context (default: the current one)', optional: true, completes: 'context' },
  ],
  flags: { 'token-file': { description: 'File with the token', value: 'FILE', completes: 'file' } },
  examples: [
    ['imago login prod', 'Ask for the token of a server'],
    ['imago login prod --token-file token', 'Read it from a file, in a script'],
  ],
  async run(invocation) {
    const name = invocation.args.NAME ?? text(invocation, 'context') ?? readContexts().current;
    if (name === undefined) {
      throw new ImagoError('usage-invalid', 'There is no current context to log in to.', {
        hint: 'Name one: `imago login NAME`. Add it first with `imago context add NAME --url URL`.',
      });
    }
    const { url, ca } = requireContext(readContexts(), name);
    const token = (await readToken(invocation)).trim();
    if (token === '') throw new ImagoError('usage-invalid', 'The token is empty.');
    const { remoteClient } = await import('../run/connect.ts');
    const client = remoteClient(url, token, ca);
    const identity = await client.call('showIdentity').finally(() => client.close());
    await changeContexts((all) => ({
      ...all,
      contexts: { ...all.contexts, [name]: { ...requireContext(all, name), token } },
    }));
    const { who, role, expiresAt } = identity;
    const until = expiresAt === undefined ? '' : `, until ${expiresAt}`;
    invocation.out.thing({ context: name, url, ...identity }, name, () => [
      `Logged in to ${name} (${url}) as ${who} with the role ${role}${until}`,
    ]);
  },
};

async function readToken(invocation: Invocation): Promise<string> {
  const file = text(invocation, 'token-file');
  if (file !== undefined) return readText(file);
  if (!process.stdin.isTTY) return readAll(process.stdin);
  process.stderr.write('Token: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    const ended = new Promise<never>((_, reject) => {
      const end = () => reject(new ImagoError('cancelled', 'Interrupted. Nothing was stored.'));
      reader.once('SIGINT', end).once('close', end);
    });
    return await Promise.race([reader.question(''), ended]);
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}
