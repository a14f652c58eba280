// Commands for galleries.
import { readRegion } from '../input/read-values.ts';
import { group, list, write } from '../run/builders.ts';
import { type Fields, type Invocation, text } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

export const command = group({
  add: write('addGallery', {
    summary: 'Register a gallery or update its settings',
    details:
      'The first publication creates a gallery that the provider does not have. Versions are copied to the gallery before one of its channels moves to them.',
    args: [{ name: 'NAME', description: 'Name of the gallery in Imago' }],
    flags: {
      provider: { description: 'Provider of the gallery', value: 'NAME', required: true },
      place: { description: 'Gallery name at the provider (default: the only one)', value: 'NAME' },
      home: { description: 'Home region of the gallery', value: 'REGION' },
      region: {
        description: 'Region to replicate to, and its minimum number of replicas (default: 1)',
        value: 'REGION[=N]',
        repeated: true,
        field: 'regions',
        read: readRegion,
      },
      channel: {
        description: 'Channel that the gallery serves',
        value: 'CHANNEL',
        repeated: true,
        field: 'channels',
      },
      public: {
        description:
          'The gallery is shared or public: it never receives restricted versions, and is in the catalog',
      },
      subscription: { description: 'Azure subscription id', value: 'ID', field: false },
      'resource-group': { description: 'Azure resource group', value: 'NAME', field: false },
      'azure-gallery': { description: 'Azure gallery name (default: --place)', value: 'NAME', field: false },
      'community-name': {
        description: 'Public name of an Azure community gallery',
        value: 'NAME',
        field: false,
      },
    },
    examples: [
      [
        'imago gallery add staging --provider sim --place staging --channel staging',
        'Register a gallery for testing only',
      ],
      [
        'imago gallery add public --provider sim --place public --channel production --region westeurope=3 --public',
        'Register a public gallery that serves production',
      ],
    ],
    more: readAzure,
    done: ({ name, provider, place }) =>
      `Gallery ${name} is registered: ${[provider, place].filter(Boolean).join('/')}`,
  }),
  list: list('listGalleries', {
    summary: 'List registered galleries',
    examples: [['imago gallery list', 'List where versions are copied to']],
    columns: [
      'name',
      'provider',
      'place',
      'channels',
      ['regions', ({ regions }) => regions.map(({ region, replicas }) => `${region}=${replicas}`).join(', ')],
      'public',
    ],
  }),
  remove: write('removeGallery', {
    summary: 'Unregister a gallery (its contents are not deleted)',
    args: [{ name: 'GALLERY', description: 'Name of the gallery' }],
    irreversible: true,
    examples: [['imago gallery remove old', 'Stop copying versions there']],
    done: ({ name }) => `Gallery ${name} is unregistered; its contents were not deleted`,
  }),
});

function readAzure(invocation: Invocation): Fields {
  const subscription = text(invocation, 'subscription');
  const resourceGroup = text(invocation, 'resource-group');
  const gallery = text(invocation, 'azure-gallery') ?? text(invocation, 'place');
  const communityName = text(invocation, 'community-name');
  if (subscription === undefined && resourceGroup === undefined && communityName === undefined) return {};
  if (subscription === undefined || resourceGroup === undefined || gallery === undefined) {
    throw usage(
      'A gallery in Azure needs --subscription, --resource-group, and --azure-gallery.',
      'gallery add',
    );
  }
  return { azure: { subscription, resourceGroup, gallery, communityName } };
}
