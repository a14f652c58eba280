// Commands for channels.
import type { Client } from '../../../api/client/client.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { describeGate } from '../../../domain/gate/describe.ts';
import { requireExpect } from '../../input/destructive-target.ts';
import { exactArgument, referenceArgument } from '../../input/find-version.ts';
import { channelArgument, splitChannel } from '../../input/read-values.ts';
import { unsyncedGalleryLines } from '../../output/describe.ts';
import { group, list, operation, show, subject, write } from '../../run/builders.ts';
import {
  argument,
  type CommandSpec,
  expectFlag,
  type FlagSpecs,
  type Invocation,
  isSet,
  operationFlags,
  pageFlags,
  reasonFlag,
  requiredText,
  text,
  texts,
} from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

const whyFlag: FlagSpecs = { reason: { ...reasonFlag.reason, field: 'why' } };
const toFlag: FlagSpecs = {
  to: {
    description: 'Target channel',
    value: 'CHANNEL',
    required: true,
    completes: 'channel',
    field: 'channel',
  },
};
const moveFlag: FlagSpecs = {
  move: { description: 'Channel move (default: the current one)', value: 'NUMBER' },
};
const channelName = ({ image, channel }: Readonly<Record<string, unknown>>) => `${image}:${channel}`;

const promote: CommandSpec = {
  summary: 'Promote a version to a channel',
  details:
    'Channels that are not for testing accept only versions whose tests passed on this exact digest. Galleries that serve the channel receive the version first, and offer it as their latest once the channel points to it.',
  args: [exactArgument],
  flags: {
    ...toFlag,
    ...whyFlag,
    ...expectFlag('the channel points to this version now', 'VERSION'),
    'allow-downgrade': { description: 'Allow moving to an older version', field: 'back' },
    override: {
      description: 'Gate to override, admin only',
      value: 'GATE',
      repeated: true,
      field: false,
    },
    'override-reason': {
      description: 'Reason for the override, which stays visible permanently',
      value: 'TEXT',
      field: false,
    },
    ...operationFlags,
  },
  examples: [
    ['imago channel promote node:1.34.2 --to staging --reason "weekly"', 'Promote a version to staging'],
    [
      'imago channel promote node:staging --to production --reason "a week in staging"',
      'Promote the version in staging to production',
    ],
  ],
  async run(invocation) {
    const gates = texts(invocation, 'override');
    const reason = text(invocation, 'override-reason');
    if ((reason === undefined) !== (gates.length === 0)) {
      throw usage('--override and --override-reason must be used together.', 'channel promote');
    }
    const channel = targetChannel(argument(invocation, 'IMAGE'), requiredText(invocation, 'to'));
    const { runOperation } = await import('../../run/run-command.ts');
    await runOperation(invocation, reason === undefined ? 'promote' : 'overridePromote', {
      ...promote,
      more: () => ({ channel, ...(reason !== undefined && { override: { gates, reason } }) }),
      name: channelName,
      done: (result) => [
        `${channelName(result)} points to ${result.version} (move ${result.move}${result.signed ? ', signed' : ''})`,
        ...unsyncedGalleryLines(result),
      ],
    });
  },
};

/** `NAME:CHANNEL` is the same as `CHANNEL` if NAME is the image of the version. */
function targetChannel(reference: string, to: string): string {
  const [image, channel] = to.split(':', 2);
  if (channel === undefined || reference.split(/[:@]/, 1)[0] === image) return channel ?? to;
  throw new ImagoError('input-invalid', `${reference} is not a version of ${image}.`, {
    hint: 'A channel only moves between versions of its own image: write --to CHANNEL.',
  });
}

const rollback = operation('rollbackChannel', {
  summary: 'Roll back a channel to its previous version',
  details:
    'The rollback checks no gates and needs no approvals: it only returns to a version that the channel pointed to before. The version that the channel leaves is resolved once, shown, and confirmed; --yes requires --expect. A repeated rollback away from the same version changes nothing. The galleries of the channel get the previous version first, so the command can wait for one of them. `imago image withdraw` waits for no gallery.',
  args: [channelArgument],
  flags: {
    ...whyFlag,
    expect: { ...expectFlag('the channel points to this version', 'VERSION').expect, field: 'from' },
  },
  irreversible: true,
  examples: [
    ['imago channel rollback node:production --reason "kubelet crashes"', 'Show the move and confirm it'],
    [
      'imago channel rollback node:production --expect 1.34.2 --yes --reason "kubelet crashes"',
      'Roll back from 1.34.2 in a script',
    ],
  ],
  async more(invocation) {
    if (text(invocation, 'expect') !== undefined) return {};
    const reference = argument(invocation, 'CHANNEL');
    const client = await invocation.client();
    const { version } = await client.call('resolve', { query: { reference } });
    if (isSet(invocation, 'yes')) requireExpect(invocation, reference, version);
    return { from: version };
  },
  name: channelName,
  done: (result) => [
    `${channelName(result)} points to ${result.version ?? 'nothing'} again (move ${result.move})`,
    ...unsyncedGalleryLines(result),
  ],
});

const attestation: CommandSpec = {
  summary: 'Print the signed attestation of a channel move',
  details:
    'Prints a DSSE envelope with an in-toto statement: who moved the channel, and the result of every gate. It can be verified offline with the public key of `imago keys show`. For a move that was signed again, prints the valid attestation; --json includes the earlier ones.',
  args: [channelArgument],
  flags: moveFlag,
  examples: [['imago channel attestation node:production > move.json', 'Store it with the release']],
  async run(invocation) {
    const client = await invocation.client();
    const reference = argument(invocation, 'CHANNEL');
    const move = text(invocation, 'move') ?? (await currentMove(client, reference));
    const found = await client.call('showMoveAttestation', { path: { move } });
    invocation.out.thing(found, String(found.move), () => [found.envelope]);
    if (found.problem === undefined) return;
    invocation.out.note(
      `Its signature is not valid: ${found.problem}. Sign it again with \`imago channel sign ${reference} --move ${move}\`.`,
    );
  },
};

async function currentMove(client: Client, reference: string): Promise<string> {
  const { move } = (await findChannel(client, reference)) ?? {};
  if (move !== undefined) return String(move);
  throw new ImagoError('channel-empty', `${reference} does not point to a version.`);
}

async function findChannel(client: Client, reference: string) {
  const { image, channel } = splitChannel(reference);
  const { items } = await client.call('listChannels', { path: { image } });
  return items.find(({ name }) => name === channel);
}

/** A deletion is confirmed for the version that the channel points to now. */
async function expectCurrent(invocation: Invocation) {
  if (text(invocation, 'expect') !== undefined) return {};
  const found = await findChannel(await invocation.client(), argument(invocation, 'CHANNEL'));
  return { expect: found?.version ?? 'none' };
}

export const command = group({
  list: list('listChannels', {
    summary: 'List the channels of an image and the versions they point to',
    args: [{ name: 'IMAGE', description: 'Name of the image', completes: 'image' }],
    examples: [['imago channel list node', 'List staging, production, and latest']],
    name: ({ image, name }) => `${image}:${name}`,
    columns: [
      ['channel', 'name'],
      'version',
      ['accepts', ({ managed, forTesting }) => accepts(managed, forTesting)],
      ['simulated', ({ simulated }) => simulated && 'simulated'],
      ['public', (channel) => (channel.public ? 'public' : undefined)],
      'move',
      ['moved', 'movedAt'],
    ],
  }),
  promote,
  rollback,
  history: list('listMoves', {
    summary: 'List all channel moves of an image, newest first',
    details:
      'Moves are retained permanently, even if the channel and the version are deleted. `overridden` lists the gates that an admin overrode; --json includes the result of every gate.',
    args: [
      {
        name: 'IMAGE',
        description: 'NAME, or NAME:CHANNEL for one channel',
        completes: 'image',
        expand: (word) => {
          const [image, channel] = word.split(':');
          return { image, channel };
        },
      },
    ],
    flags: pageFlags,
    examples: [['imago channel history node:production', 'List the versions that production pointed to']],
    columns: [
      ['move', 'id'],
      'at',
      'channel',
      'from',
      'to',
      'by',
      ['reason', 'why'],
      ['overridden', ({ policy }) => policy?.override?.gates.join(', ')],
    ],
  }),
  gates: show('showGates', {
    summary: 'Show the status of each gate between a version and a channel',
    args: [referenceArgument],
    flags: toFlag,
    examples: [['imago channel gates node:staging --to production', 'List what is still missing']],
    name: ({ passed }) => (passed ? 'passed' : 'blocked'),
    lines: ({ gates, passed }, invocation) => [
      ...gates.map((gate) => describeGate(gate as Parameters<typeof describeGate>[0])),
      `${argument(invocation, 'IMAGE')} ${passed ? 'can' : 'cannot'} be promoted to ${text(invocation, 'to')} now`,
    ],
  }),
  attestation,
  sign: write('signMove', {
    summary: 'Sign a channel move that has no valid signature',
    details:
      'Signs what was recorded at the time of the move: who, why, and the result of every gate. A valid attestation is left unchanged. One signed by a revoked key is retained, and a new one replaces it.',
    args: [{ ...channelArgument, field: false }],
    flags: moveFlag,
    examples: [
      ['imago channel sign node:production', 'Sign the current move after `imago keys create`'],
      [
        'imago channel history node:production -o name | xargs -n1 imago channel sign node:production --move',
        'Sign every move of a channel',
      ],
    ],
    async more(invocation) {
      if (text(invocation, 'move') !== undefined) return {};
      return { move: await currentMove(await invocation.client(), argument(invocation, 'CHANNEL')) };
    },
    name: ({ move }) => String(move),
    done: ({ move, at }) => `Move ${move} is signed, since ${at}`,
  }),
  verify: subject('Verify the attestation of a channel move offline', () => import('./verify.ts')),
  create: write('createChannel', {
    summary: 'Create a channel',
    details: 'Channels have an order: versions are promoted from earlier channels to later ones.',
    args: [
      {
        ...channelArgument,
        expand: (word) => {
          const { image, channel } = splitChannel(word);
          return { image, name: channel };
        },
      },
    ],
    flags: {
      after: { description: 'Insert after this channel (default: the last one)', value: 'CHANNEL' },
      testing: { description: 'Accept candidate versions', field: 'forTesting' },
      public: { description: 'The channel is public: restricted versions never reach it' },
    },
    examples: [
      ['imago channel create node:canary --after staging', 'Insert it between staging and production'],
    ],
    name: ({ image, name }) => `${image}:${name}`,
    done: ({ image, name }) => `${image}:${name} is created`,
  }),
  delete: write('deleteChannel', {
    summary: 'Delete a channel (its history is retained)',
    args: [channelArgument],
    flags: {
      ...whyFlag,
      ...expectFlag('the channel points to this version (`none` if it is empty)', 'VERSION'),
    },
    irreversible: true,
    examples: [['imago channel delete node:canary --reason "no longer used"', 'Delete it after a prompt']],
    more: expectCurrent,
    name: ({ image, name }) => `${image}:${name}`,
    done: ({ image, name }) =>
      `${image}:${name} is deleted; run \`imago channel history ${image}:${name}\` for its moves`,
  }),
});

function accepts(managed: boolean | undefined, forTesting: boolean): string {
  if (managed) return 'managed: newest available';
  return forTesting ? 'candidates' : 'available only';
}
