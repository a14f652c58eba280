// Copy a version to a gallery.
import { argument, type CommandSpec, text, texts } from '../command.ts';
import { imageArgument } from '../find-version.ts';
import { readRegion } from '../read-region.ts';
import { operationFlags, runOperation } from '../run-operation.ts';

export const command: CommandSpec = {
  summary: "Copy a version to a provider's gallery",
  details:
    'Machines and pools are made from the gallery. A copy that is there is adopted, and none is taken away.',
  args: [imageArgument],
  flags: {
    provider: { what: 'whose gallery', value: 'NAME' },
    region: {
      what: 'a region to have copies in, and how many (default: 1); again for more',
      value: 'REGION[=N]',
      repeated: true,
    },
    ...operationFlags,
  },
  examples: [['imago image publish node:staging --region westeurope=2', 'before a rollout there']],
  async run(invocation) {
    const provider = text(invocation, 'provider');
    const regions = texts(invocation, 'region').map((word) => readRegion(word, 'image publish'));
    const body = {
      reference: argument(invocation, 'IMAGE'),
      ...(provider && { provider }),
      ...(regions.length > 0 && { regions }),
    };
    await runOperation(invocation, {
      endpoint: 'publishImage',
      input: { body },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => {
        const places = (result.regions as readonly string[] | undefined) ?? [];
        return [
          `${result.image}:${result.version} is published${places.length === 0 ? '' : ` in ${places.join(', ')}`}`,
        ];
      },
    });
  },
};
