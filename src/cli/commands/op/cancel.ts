// Ask an operation to undo and stop.
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Ask an operation to undo what it did and stop',
  args: [{ name: 'OPERATION', what: 'its id', completes: 'operation' }],
  flags: { 'dry-run': { what: 'say what would be done, and do nothing' } },
  examples: [['imago op cancel ID', 'then watch it undo with `imago op watch`']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { operation: argument(invocation, 'OPERATION') };
    if (isSet(invocation, 'dry-run')) {
      const plan = await client.plan('cancelOperation', { path });
      invocation.out.thing(plan, plan.subject, () => plan.plan);
      return;
    }
    const operation = await client.call('cancelOperation', { path });
    invocation.out.thing(operation, operation.id, () => [
      `Operation ${operation.id} was asked to undo and stop. Watch it with \`imago op watch ${operation.id}\`.`,
    ]);
  },
};
