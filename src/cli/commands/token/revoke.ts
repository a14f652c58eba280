// End a token.
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End a token at once',
  args: [{ name: 'TOKEN', what: 'its id' }],
  examples: [['imago token revoke ID', 'it is refused from now on']],
  async run(invocation) {
    const client = await invocation.client();
    const token = await client.call('revokeToken', { path: { token: argument(invocation, 'TOKEN') } });
    invocation.out.thing(token, token.id, () => [`Token ${token.id} is revoked`]);
  },
};
