// What every gate says of a version now.
import { describeGate } from '../../../domain/gate/gate.ts';
import { imageArgument } from '../../input/find-version.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show what every gate before a channel says of a version now',
  args: [imageArgument],
  flags: { to: { what: 'the channel', value: 'CHANNEL', required: true, completes: 'channel' } },
  examples: [['imago channel gates node:staging --to production', 'what is still missing']],
  async run(invocation) {
    const client = await invocation.client();
    const reference = argument(invocation, 'IMAGE');
    const channel = requiredText(invocation, 'to');
    const result = await client.call('showGates', { query: { reference, channel } });
    invocation.out.thing(result, result.passed ? 'open' : 'closed', () => [
      ...result.gates.map((gate) => describeGate(gate as Parameters<typeof describeGate>[0])),
      `${reference} ${result.passed ? 'may' : 'may not'} go to ${channel} now`,
    ]);
  },
};
