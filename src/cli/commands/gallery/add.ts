// Tell Imago of a gallery.

import { readRegion } from '../../input/read-region.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import {
  argument,
  type CommandSpec,
  type Invocation,
  isSet,
  requiredText,
  text,
  texts,
} from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Tell Imago of a gallery, or change what it was told',
  details:
    'A gallery that the provider does not have is made by the first publication. Versions are copied to it before one of its channels moves to them.',
  args: [{ name: 'NAME', what: 'what Imago calls it' }],
  flags: {
    provider: { what: 'whose gallery it is', value: 'NAME', required: true },
    place: { what: "the provider's name for it (default: its only one)", value: 'NAME' },
    home: { what: 'the region that it stands in', value: 'REGION' },
    region: {
      what: 'a region to keep copies in, and the fewest of them (default: 1); again for more',
      value: 'REGION[=N]',
      repeated: true,
    },
    channel: {
      what: 'a channel whose versions must be there; again for more',
      value: 'CHANNEL',
      repeated: true,
    },
    public: {
      what: 'others see it, shared or open to all: restricted versions never go there, and the catalogue shows it',
    },
    subscription: { what: "in Azure: the subscription's id", value: 'ID' },
    'resource-group': { what: 'in Azure: its resource group', value: 'NAME' },
    'azure-gallery': { what: "in Azure: the gallery's name (default: the place)", value: 'NAME' },
    'community-name': { what: 'in Azure: the public name of a community gallery', value: 'NAME' },
    ...writeFlags,
  },
  examples: [
    [
      'imago gallery add staging --provider sim --place staging --channel staging',
      'a gallery for tests alone',
    ],
    [
      'imago gallery add public --provider sim --place public --channel production --region westeurope=3 --public',
      'what production needs, for everyone',
    ],
  ],
  async run(invocation) {
    const place = text(invocation, 'place');
    const home = text(invocation, 'home');
    const azure = readAzure(invocation, place);
    await runWrite(invocation, {
      endpoint: 'addGallery',
      input: {
        body: {
          name: argument(invocation, 'NAME'),
          provider: requiredText(invocation, 'provider'),
          ...(place && { place }),
          ...(home && { home }),
          channels: [...texts(invocation, 'channel')],
          regions: texts(invocation, 'region').map((word) => readRegion(word, 'gallery add')),
          public: isSet(invocation, 'public'),
          ...(azure && { azure }),
        },
      },
      name: ({ name }) => name,
      lines: ({ name, provider }) => [
        `Gallery ${name} is known: ${[provider, place].filter(Boolean).join('/')}`,
      ],
    });
  },
};

function readAzure(invocation: Invocation, place: string | undefined) {
  const subscription = text(invocation, 'subscription');
  const resourceGroup = text(invocation, 'resource-group');
  const gallery = text(invocation, 'azure-gallery') ?? place;
  const communityName = text(invocation, 'community-name');
  if (subscription === undefined && resourceGroup === undefined && communityName === undefined)
    return undefined;
  if (subscription === undefined || resourceGroup === undefined || gallery === undefined) {
    throw usage(
      'A gallery in Azure needs --subscription, --resource-group and --azure-gallery.',
      'gallery add',
    );
  }
  return { subscription, resourceGroup, gallery, ...(communityName && { communityName }) };
}
