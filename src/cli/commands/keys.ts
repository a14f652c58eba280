// Commands for signing keys.
import type { ItemOf } from '../../api/contract/types.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { didYouMean } from '../../domain/value/suggest.ts';
import { readPublicKeys } from '../input/read-public-keys.ts';
import { readText } from '../input/read-text.ts';
import { keyValueLines } from '../output/table.ts';
import { group, list, write } from '../run/builders.ts';
import type { Column } from '../spec/call.ts';
import { argument, type CommandSpec, dryRunFlag, isSet, reasonFlag, requiredText } from '../spec/command.ts';

type Key = ItemOf<'listKeys'>;

const keyArgument = { name: 'KEY', description: 'Id of the key' };

const columns: readonly Column<Key>[] = [
  'id',
  ['owner', ({ owner }) => owner ?? 'this installation'],
  ['state', stateOf],
  ['from', ({ validFrom }) => (Date.parse(validFrom) === 0 ? undefined : validFrom)],
  ['until', 'validUntil'],
  ['reason', 'revoked'],
];

function stateOf({ revoked, signs, owner, validUntil }: Key): string {
  if (revoked !== undefined) return 'revoked';
  if (signs) return 'active';
  return owner !== undefined && validUntil === undefined ? 'trusted' : 'expired';
}

const show: CommandSpec = {
  summary: 'Print a public key',
  details: 'Prints PEM, for `cosign verify --key` and for `imago keys trust` of another installation.',
  args: [{ name: 'KEY', description: 'Id of the key (default: the active key)', optional: true }],
  examples: [
    ['imago keys show > imago.pub', 'Save it for cosign verify --key imago.pub HOST/REPOSITORY:TAG'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const { items } = await client.call('listKeys');
    const { KEY: id } = invocation.args;
    const key = items.find((one) => (id === undefined ? one.signs : one.id === id));
    if (key === undefined) throw notFound(id, items);
    invocation.out.thing(key, key.id, () => [key.publicKey.trimEnd()]);
  },
};

function notFound(id: string | undefined, items: readonly Key[]): ImagoError {
  if (id === undefined) return new ImagoError('key-not-found', 'No signing key is active.');
  const known = items.map((item) => item.id);
  return new ImagoError('key-not-found', `Key ${id} not found.`, {
    hint: didYouMean(id, known) ?? 'Run `imago keys list`.',
  });
}

const trust: CommandSpec = {
  summary: 'Trust the keys of another installation',
  details:
    'For `image verify` and `image pull`. FILE is a public key in PEM, from `imago keys show` or cosign, or the output of `imago keys list --json`, which also contains the validity period of each key and its revocation. Pass a newer list again when the other installation changed its keys.',
  args: [{ name: 'FILE', description: 'Public key, or list of keys', completes: 'file' }],
  flags: { owner: { description: 'Owner of the keys', value: 'NAME', required: true }, ...dryRunFlag },
  examples: [
    ['imago keys trust farm.pub --owner farm', 'Trust one key, to run imago image pull HOST/REPOSITORY:TAG'],
    ['imago keys trust farm-keys.json --owner farm', 'Trust all keys, with their validity periods'],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const owner = requiredText(invocation, 'owner');
    const keys = readPublicKeys(await readText(file), file);
    const client = await invocation.client();
    const plan: string[] = [];
    for (const key of keys) plan.push(...(await client.plan('trustKey', { body: { owner, ...key } })).plan);
    const { printPlan, tableColumns } = await import('../run/run-command.ts');
    if (isSet(invocation, 'dry-run')) return printPlan(invocation, { dryRun: true, plan }, owner);
    const items: Key[] = [];
    for (const key of keys) items.push(await client.call('trustKey', { body: { owner, ...key } }));
    invocation.out.list({ items }, (key) => key.id, tableColumns(columns));
  },
};

export const command = group({
  create: write('createKey', {
    summary: 'Create a signing key, or rotate the active one',
    details:
      'Previous keys sign nothing new, and their signatures stay valid. The private key stays in the state directory, encrypted if IMAGO_KEY_PASSPHRASE is set for the daemon.',
    examples: [['imago keys create', 'Create the first key, or rotate it']],
    done: ({ id, validFrom, publicKey }) => [
      ...keyValueLines({ id, 'active since': validFrom }),
      publicKey.trimEnd(),
    ],
  }),
  list: list('listKeys', {
    summary: 'List own and trusted keys, oldest first',
    details: '`imago keys trust` of another installation accepts the output of --json.',
    examples: [
      ['imago keys list', 'List the active key, previous keys, and trusted keys'],
      ['imago keys list --json > keys.json', 'Save the keys for `imago keys trust keys.json` elsewhere'],
    ],
    columns,
  }),
  show,
  revoke: write('revokeKey', {
    summary: 'Revoke a key and invalidate all its signatures',
    details:
      'For a leaked key. To replace a key, create a new one instead. Sign versions that are still good again.',
    args: [keyArgument],
    flags: reasonFlag,
    irreversible: true,
    examples: [
      ['imago keys revoke 0123456789abcdef --reason "laptop was stolen"', 'Revoke it after a prompt'],
    ],
    done: ({ id, revoked }) => `Key ${id} is revoked: ${revoked}`,
  }),
  trust,
  untrust: write('untrustKey', {
    summary: 'Stop trusting a key of another installation',
    details: 'The key can be trusted again. For a leaked key, use `imago keys revoke`, which is permanent.',
    args: [keyArgument],
    irreversible: true,
    examples: [['imago keys untrust 0123456789abcdef', 'Treat versions that only it signed as unsigned']],
    done: ({ id, owner }) => `Key ${id} of ${owner} is no longer trusted`,
  }),
});
