// The exact version behind a reference.
import type { AnswerOf } from '../../api/contract/types.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isUsable } from '../../domain/image/version-state.ts';
import { orList } from '../../domain/value/suggest.ts';
import { facts } from '../output/table.ts';
import { argument, type CommandSpec, isSet, text } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Tell the exact version and digest behind a reference',
  details:
    'One that was withdrawn is an answer too, because nodes run it still: it says so, with the reason and the nearest that can be used. Where new nodes are to be made from the answer, ask with --usable.',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  flags: {
    at: {
      what: 'what it named at this time: 2026-03-03T15:00Z, or 2026-03-03 for when that day began (UTC); the state is that of now',
      value: 'TIME',
    },
    kubernetes: {
      what: 'with this Kubernetes version: of a bare NAME, the best available',
      value: 'VERSION',
    },
    region: { what: 'ready in this region', value: 'REGION' },
    usable: { what: 'refuse one that is withdrawn or deleted, with exit code 4' },
  },
  examples: [
    ['imago resolve node:production --json', 'pin what production is now'],
    ['imago resolve node:production --at 2026-03-03', 'what production was when 3 March began'],
    ['imago resolve node:1.34.2 --usable', 'the version, unless it was withdrawn'],
    ['imago resolve node --kubernetes 1.34', 'the best available for Kubernetes 1.34'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const [at, kubernetes, region] = ['at', 'kubernetes', 'region'].map((flag) => text(invocation, flag));
    const found = await client.call('resolve', {
      query: {
        reference: argument(invocation, 'IMAGE'),
        ...(at === undefined ? {} : { at }),
        ...(kubernetes === undefined ? {} : { kubernetes }),
        ...(region === undefined ? {} : { region }),
      },
    });
    if (isSet(invocation, 'usable')) requireUsable(found);
    const { nearest, simulated, ...rest } = found;
    invocation.out.thing(found, `${found.image}@${found.digest}`, () =>
      facts({
        ...rest,
        simulated: simulated && 'yes',
        ...(nearest && { nearest: nearest.join(', ') || 'none can be used' }),
      }),
    );
  },
};

function requireUsable({ image, version, state, reason, nearest = [] }: AnswerOf<'resolve'>): void {
  if (isUsable(state)) return;
  const near = nearest.map((number) => `\`${image}:${number}\``);
  const why = reason === undefined ? '.' : `: ${reason}`;
  throw new ImagoError('version-withdrawn', `${image}:${version} is ${state}${why}`, {
    hint:
      near.length === 0
        ? `See \`imago image list ${image}\`.`
        : `The nearest that can be used: ${orList(near)}.`,
  });
}
