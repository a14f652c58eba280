// Writes without an operation: with --dry-run they request the plan, and nothing else.
import { expect, test } from 'vitest';
import { createOutput } from '../output/output.ts';
import { type CommandEntry, type CommandGroup, isGroup, loadCommand } from '../spec/command.ts';
import { command as image } from './image/image.ts';
import { command as schedule } from './schedule.ts';
import { command as sim } from './sim.ts';
import { command as support } from './support.ts';
import { command as token } from './token.ts';

const { commands: fault } = sim.commands.fault as CommandGroup;
const version = { IMAGE: 'node:1.34.2' };
const line = { PRODUCT: 'kubernetes', LINE: '1.37' };
const nightly = { cron: '0 3 * * *', kind: 'test', subject: 'image/node', input: '{}' };

test.each([
  ['holdVersion', image.commands.hold, version, { reason: 'audit' }],
  ['releaseVersion', image.commands.unhold, version, {}],
  ['setSupport', support.commands.set, line, { ends: '2027-10-28' }],
  ['unsetSupport', support.commands.unset, line, {}],
  ['createSchedule', schedule.commands.create, { NAME: 'nightly' }, nightly],
  ['deleteSchedule', schedule.commands.delete, { SCHEDULE: 'nightly' }, {}],
  ['createToken', token.commands.create, {}, { owner: 'ci', role: 'viewer' }],
  ['revokeToken', token.commands.revoke, { TOKEN: '1' }, {}],
  ['addFault', fault.add, { CALL: 'pools.createPool', KIND: 'fails' }, {}],
  ['removeFault', fault.remove, { FAULT: '1' }, {}],
] as const)('%s', async (endpoint, entry, args, flags) => {
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
  const command = await loadCommand(entry as CommandEntry);
  if (isGroup(command)) throw new Error('It is a group.');
  expect(command.flags).toHaveProperty('dry-run');
  await command.run({
    ...{ args, flags: { ...flags, 'dry-run': true }, client: async () => client },
    out: createOutput('table', false, { out, err: out, env: {} }),
  } as never);
  expect(called).toEqual([`plan ${endpoint}`]);
  expect(shown).toBe('Dry run. These changes would be made:\n  What it would do.\n');
});
