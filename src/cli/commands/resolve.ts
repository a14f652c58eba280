// The exact version behind a reference.
import { argument, type CommandSpec, text } from '../command.ts';
import { facts } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Tell the exact version and digest behind a reference',
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
  },
  examples: [
    ['imago resolve node:production --json', 'pin what production is now'],
    ['imago resolve node:production --at 2026-03-03', 'what production was when 3 March began'],
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
    invocation.out.thing(found, `${found.image}@${found.digest}`, () => facts({ ...found }));
  },
};
