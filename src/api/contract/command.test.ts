// A route with its command is its entry in the contract and its handler: the command derives from the entry.
import { expect, test } from 'vitest';
import * as z from 'zod';
import { group, subject } from '../../cli/run/builders.ts';
import { withDerived } from '../../cli/run/derived.ts';
import { isGroup, loadCommand } from '../../cli/spec/command.ts';
import { commandOf } from './command.ts';
import { endpoints, read, write } from './endpoint.ts';

const color = z.object({ name: z.string() });
const routes = endpoints('Pools', {
  listColors: read('GET /v1/colors', 'List colors', {
    query: z.strictObject({ limit: z.coerce.number<number>().optional().describe('Maximum number.') }),
    response: z.object({ items: z.array(color) }),
    command: { words: 'pool colors', columns: ['name'], examples: [['imago pool colors', 'List all']] },
  }),
  deleteColor: write('DELETE /v1/colors/{color}', 'Delete a color', {
    role: 'operator',
    response: color,
    command: {
      words: 'pool bleach',
      irreversible: true,
      examples: [['imago pool bleach red --yes', 'Delete a color without a prompt']],
    },
  }),
  showColor: read('GET /v1/colors/{color}', 'Show a color', { response: color }),
});

test('endpoints that declare a command have one', async () => {
  const derived = Object.entries(routes).flatMap(([name, route]) => commandOf(name, route) ?? []);
  const tree = { pool: subject('Manage node pools', async () => ({ command: group({}) })) };
  const pool = await loadCommand(withDerived(tree, derived).pool);
  expect(isGroup(pool) ? pool.commands : {}).toMatchObject({
    colors: { endpoint: 'listColors', flags: { limit: { value: 'N', description: 'Maximum number' } } },
    bleach: { endpoint: 'deleteColor', args: [{ name: 'COLOR' }], flags: { yes: {}, 'dry-run': {} } },
  });
  expect(derived.map(({ endpoint }) => endpoint)).not.toContain('showColor');
});
