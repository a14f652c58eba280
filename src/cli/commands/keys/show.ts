// The public part of a signing key.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the public part of a signing key',
  details: 'PEM, for `cosign verify --key` and for `imago keys trust` of another installation.',
  args: [{ name: 'KEY', what: 'its id (default: the one that signs now)', optional: true }],
  examples: [['imago keys show > imago.pub', 'then: cosign verify --key imago.pub HOST/REPOSITORY:TAG']],
  async run(invocation) {
    const client = await invocation.client();
    const { items } = await client.call('listKeys');
    const { KEY: id } = invocation.args;
    const key = items.find((one) => (id === undefined ? one.signs : one.id === id));
    if (key === undefined) throw notFound(id, items);
    invocation.out.thing(key, key.id, () => [key.publicKey.trimEnd()]);
  },
};

function notFound(id: string | undefined, items: readonly { readonly id: string }[]): ImagoError {
  if (id === undefined) {
    return new ImagoError('key-not-found', 'No key signs now.', {
      hint: 'Make one with `imago keys create`.',
    });
  }
  const near = didYouMean(
    id,
    items.map((item) => item.id),
  );
  return new ImagoError('key-not-found', `There is no key ${id}.`, {
    hint: near ?? 'See `imago keys list`.',
  });
}
