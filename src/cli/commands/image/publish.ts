// Copy a version to a gallery.

import { exactArgument } from '../../input/find-version.ts';
import { readRegion } from '../../input/read-region.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, text, texts } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Copy a version to a gallery and its regions',
  details:
    'Machines and pools are made from the gallery. A copy that is there is adopted when it is the version that was ' +
    'tested, and none is taken away. A region that fails is tried again alone. A version with private inputs goes to ' +
    'no gallery that others see.',
  args: [exactArgument],
  flags: {
    provider: { what: "whose gallery (default: that of the daemon's own provider)", value: 'NAME' },
    gallery: { what: 'a gallery that Imago was told of (`imago gallery list`)', value: 'NAME' },
    region: {
      what: 'a region to have copies in, and how many (default: 1); again for more',
      value: 'REGION[=N]',
      repeated: true,
    },
    deep: { what: 'read the disk back and compare every byte' },
    ...operationFlags,
  },
  examples: [['imago image publish node:staging --region westeurope=2', 'before a rollout there']],
  async run(invocation) {
    const provider = text(invocation, 'provider');
    const gallery = text(invocation, 'gallery');
    const regions = texts(invocation, 'region').map((word) => readRegion(word, 'image publish'));
    const body = {
      reference: argument(invocation, 'IMAGE'),
      ...(provider && { provider }),
      ...(gallery && { gallery }),
      ...(isSet(invocation, 'deep') && { deep: true }),
      ...(regions.length > 0 && { regions }),
    };
    await runOperation(invocation, {
      endpoint: 'publishImage',
      input: { body },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => {
        const places = (result.regions as readonly string[] | undefined) ?? [];
        const where = places.length === 0 ? '' : ` in ${places.join(', ')}`;
        return [
          `${result.image}:${result.version} is published to ${result.gallery}${where}, compared by ${result.compared}`,
        ];
      },
    });
  },
};
