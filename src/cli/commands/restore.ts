// Load a backup into an empty database.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readPassphrase } from '../input/read-passphrase.ts';
import { readPublicKeys } from '../input/read-public-keys.ts';
import { readText } from '../input/read-text.ts';
import { facts } from '../output/table.ts';
import { argument, type CommandSpec, type Invocation, isSet, passphraseFlag, text } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Load a backup into an empty database',
  details:
    'All or nothing: a backup that is truncated, damaged or changed changes nothing. A backup of another host needs ' +
    'its passphrase, or the key that signed it with --key. A key that `imago keys trust` trusts to sign images is not ' +
    'trusted to sign a backup.',
  args: [{ name: 'FILE', what: 'the backup', completes: 'file' }],
  flags: {
    'with-keys': { what: 'also restore the keys that the backup holds' },
    key: {
      what: 'public key that signed the backup, of `imago keys show` on the host that made it',
      value: 'FILE',
      completes: 'file',
    },
    ...passphraseFlag,
    'dry-run': { what: 'verify and load the backup, and commit nothing' },
  },
  examples: [
    ['imago restore imago.backup --dry-run', 'check that it can be restored'],
    ['imago restore imago.backup --key old.pub', 'a backup of another host'],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const passphrase = await readPassphrase(invocation);
    const found = await stat(file).catch((cause) => {
      throw new ImagoError('file-missing', `There is no file ${file}.`, { cause });
    });
    if (!found.isFile()) throw new ImagoError('file-missing', `${file} is not a file.`);
    const client = await invocation.client();
    const report = await client.restore(createReadStream(file), {
      dryRun: isSet(invocation, 'dry-run'),
      withKeys: isSet(invocation, 'with-keys'),
      key: await readKey(invocation),
      passphrase,
      signal: invocation.signal,
    });
    invocation.out.thing(report, file, () => {
      if ('plan' in report) return report.plan;
      const { madeAt, madeBy, signer, tables, rows, keysRestored, missingDisks, copy } = report;
      return [
        ...facts({
          'made at': madeAt,
          'made by': madeBy,
          signer,
          tables,
          rows,
          keys: keysRestored ? 'restored' : 'not restored',
        }),
        ...(copy.length === 0 ? [] : ['Not in the backup; copy from the host that made it:']),
        ...copy.map(({ what, path }) => `  ${path}  ${what}`),
        ...missingDisks.map((name) => `The disk of ${name} is missing: see imago problem list`),
      ];
    });
  },
};

async function readKey(invocation: Invocation): Promise<string | undefined> {
  const file = text(invocation, 'key');
  if (file === undefined) return undefined;
  const [key, other] = readPublicKeys(await readText(file), file);
  if (other === undefined) return key?.publicKey;
  throw new ImagoError('key-invalid', `${file} holds several keys, and only one signed the backup.`, {
    hint: 'Write the one that signs with `imago keys show > old.pub` on the host that made the backup.',
  });
}
