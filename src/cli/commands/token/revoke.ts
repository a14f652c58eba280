// End a token.
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Revoke a token',
  details:
    'Requests with it are refused from now on; shells, consoles, and streams that it holds open end within seconds.',
  args: [{ name: 'TOKEN', what: 'its id' }],
  examples: [['imago token revoke ID', 'it is refused from now on']],
  async run(invocation) {
    const client = await invocation.client();
    const token = await client.call('revokeToken', { path: { token: argument(invocation, 'TOKEN') } });
    invocation.out.thing(token, token.id, () => [`Token ${token.id} is revoked`]);
  },
};
