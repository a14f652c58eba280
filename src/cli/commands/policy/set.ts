// Put a policy in effect.

import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import { readText } from '../../input/read-text.ts';
import { confirm } from '../../run/confirm.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, isSet, requiredText, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Put a policy in effect',
  details:
    'The policy is compared with the policy in effect and the channels that exist. If a channel that is not for testing loses gates, or a channel name looks misspelled, the command asks, or needs --yes. Every policy is stored permanently, with who set it and why.',
  args: [{ name: 'FILE', what: 'the policy', completes: 'file' }],
  flags: {
    why: { what: 'the reason, stored permanently', value: 'TEXT', required: true },
    ...yesFlag,
    ...writeFlags,
  },
  examples: [['imago policy set policy.yaml --why "two approvals from now on"', 'for all images']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const text = await readText(file);
    const set = (accept: boolean) =>
      runWrite(invocation, {
        endpoint: 'setPolicy',
        input: { body: { text, fileName: file, why: requiredText(invocation, 'why'), accept } },
        name: ({ digest }) => digest,
        lines: ({ id, digest }) => [`Policy ${id} is in effect (${digest})`],
      });
    try {
      await set(isSet(invocation, 'yes'));
    } catch (thrown) {
      const error = ensureImagoError(thrown);
      if (error.code !== 'policy-loosens') throw error;
      await confirm(invocation, [error.message]);
      await set(true);
    }
  },
};
