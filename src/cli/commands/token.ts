// Commands for API tokens.
import { keyValueLines } from '../output/table.ts';
import { group, list, write } from '../run/builders.ts';
import { invalidFlag, pageFlags } from '../spec/command.ts';

export const command = group({
  create: write('createToken', {
    summary: 'Create an API token',
    details: 'The secret is shown once; only its hash is stored.',
    flags: {
      owner: { description: 'Name recorded in operations and the audit log', value: 'NAME', required: true },
      role: {
        description: 'Role of the token',
        value: 'ROLE',
        choices: ['viewer', 'operator', 'publisher', 'admin'],
        required: true,
      },
      days: {
        description: 'Number of days until the token expires (default: 90)',
        value: 'N',
        field: 'expiresInDays',
        read: readDays,
      },
    },
    examples: [['imago token create --owner ci --role publisher --days 30', 'Create a token for a pipeline']],
    name: ({ secret }) => secret,
    done: (token) => keyValueLines({ ...token }),
  }),
  list: list('listTokens', {
    summary: 'List API tokens',
    flags: pageFlags,
    examples: [['imago token list', 'List owners, roles, and expiry dates']],
    columns: [
      'id',
      'owner',
      'role',
      ['expires', 'expiresAt'],
      ['revoked', 'revokedAt'],
      ['used', 'lastUsedAt'],
    ],
  }),
  revoke: write('revokeToken', {
    summary: 'Revoke an API token',
    details:
      'Requests with the token are refused from now on. Shells, consoles, and streams that it holds open end within seconds.',
    args: [{ name: 'TOKEN', description: 'Id of the token' }],
    irreversible: true,
    examples: [['imago token revoke ID', 'Refuse all requests with the token']],
    done: ({ id }) => `Token ${id} is revoked`,
  }),
});

function readDays(value: string, flag: string): number {
  if (Number(value) > 0) return Number(value);
  throw invalidFlag(flag, `must be a number above 0, not ${JSON.stringify(value)}.`);
}
