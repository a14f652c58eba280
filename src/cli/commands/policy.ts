// Commands for the promotion policy.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { readText } from '../input/read-text.ts';
import { group, list, show } from '../run/builders.ts';
import { confirm } from '../run/confirm.ts';
import {
  argument,
  type CommandSpec,
  dryRunFlag,
  isSet,
  pageFlags,
  reasonFlag,
  requiredText,
  yesFlag,
} from '../spec/command.ts';

const args = [{ name: 'FILE', description: 'Policy file', completes: 'file' }] as const;

const check: CommandSpec = {
  summary: 'Validate a policy file and preview what it would change',
  args,
  examples: [['imago policy check policy.yaml', 'Report every error with its line']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const body = { text: await readText(file), fileName: file, why: 'check' };
    const client = await invocation.client();
    const plan = await client.plan('setPolicy', { body });
    invocation.out.thing(plan, file, () => [`${file} is valid.`, ...plan.plan]);
  },
};

const set: CommandSpec = {
  summary: 'Activate a policy',
  details:
    'The policy is compared with the active policy and the existing channels. If a channel that is not for testing loses gates, or a channel name looks misspelled, the command asks for confirmation, or requires --yes. Every policy is stored permanently, with its author and reason.',
  args,
  flags: { ...reasonFlag, ...yesFlag, ...dryRunFlag },
  examples: [['imago policy set policy.yaml --reason "require two approvals"', 'Activate it for all images']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const client = await invocation.client();
    const body = {
      ...{ text: await readText(file), fileName: file, why: requiredText(invocation, 'reason') },
      accept: isSet(invocation, 'yes'),
    };
    const { proceeds } = await import('../run/run-command.ts');
    if (!(await proceeds(invocation, 'setPolicy', { body }))) return;
    const policy = await client.call('setPolicy', { body }).catch(async (thrown) => {
      const error = ensureImagoError(thrown);
      if (error.code !== 'policy-loosens') throw error;
      await confirm(invocation, [error.message]);
      return client.call('setPolicy', { body: { ...body, accept: true } });
    });
    invocation.out.thing(policy, policy.digest, () => [`Policy ${policy.id} is active (${policy.digest})`]);
  },
};

export const command = group({
  check,
  set,
  show: show('showPolicy', {
    summary: 'Print the active policy',
    examples: [['imago policy show > policy.yaml', 'Save it to change it']],
    name: ({ digest }) => digest,
    lines: ({ text }) => [text.trimEnd()],
  }),
  history: list('listPolicies', {
    summary: 'List all policies that were ever active, newest first',
    flags: pageFlags,
    examples: [['imago policy history', 'List who changed the gates, and why']],
    name: ({ digest }) => digest,
    columns: [['policy', 'id'], 'at', 'by', ['reason', 'why'], 'digest'],
  }),
});
