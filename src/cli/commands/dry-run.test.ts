// Commands that write at once: with --dry-run they ask for the plan, and for nothing else.
import { expect, test } from 'vitest';
import { createOutput } from '../output/output.ts';
import { command as hold } from './image/hold.ts';
import { command as release } from './image/unhold.ts';
import { command as createSchedule } from './schedule/create.ts';
import { command as deleteSchedule } from './schedule/delete.ts';
import { command as addFault } from './sim-fault/add.ts';
import { command as removeFault } from './sim-fault/remove.ts';
import { command as setSupport } from './support/set.ts';
import { command as unsetSupport } from './support/unset.ts';
import { command as createToken } from './token/create.ts';
import { command as revokeToken } from './token/revoke.ts';

const version = { IMAGE: 'node:1.34.2' };
const line = { PRODUCT: 'kubernetes', LINE: '1.37' };
const schedule = { cron: '0 3 * * *', kind: 'test', subject: 'image/node', input: '{}' };

test.each([
  ['holdVersion', hold, version, { reason: 'audit' }],
  ['releaseVersion', release, version, {}],
  ['setSupport', setSupport, line, { ends: '2027-10-28' }],
  ['unsetSupport', unsetSupport, line, {}],
  ['createSchedule', createSchedule, { NAME: 'nightly' }, schedule],
  ['deleteSchedule', deleteSchedule, { NAME: 'nightly' }, {}],
  ['createToken', createToken, {}, { owner: 'ci', role: 'viewer' }],
  ['revokeToken', revokeToken, { TOKEN: '1' }, {}],
  ['addFault', addFault, { CALL: 'pools.createPool', KIND: 'fails' }, {}],
  ['removeFault', removeFault, { FAULT: '1' }, {}],
] as const)('%s', async (endpoint, command, args, flags) => {
  let shown = '';
  const out = { write: (text: string) => (shown += text), isTTY: false };
  const called: string[] = [];
  const client = {
    async call(name: string) {
      called.push(`call ${name}`);
      return {};
    },
    async plan(name: string) {
      called.push(`plan ${name}`);
      return { dryRun: true, subject: 'image/node', plan: ['What it would do.'] };
    },
  };
  expect(command.flags).toHaveProperty('dry-run');
  await command.run({
    ...{ args, flags: { ...flags, 'dry-run': true }, client: async () => client },
    out: createOutput('table', false, { out, err: out, env: {} }),
  } as never);
  expect(called).toEqual([`plan ${endpoint}`]);
  expect(shown).toBe('Would do, and nothing was written:\n  What it would do.\n');
});
