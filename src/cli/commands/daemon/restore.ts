// Restores a backup into an empty database.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { readPassphrase } from '../../input/read-passphrase.ts';
import { readPublicKeys } from '../../input/read-public-keys.ts';
import { readText } from '../../input/read-text.ts';
import { keyValueLines } from '../../output/table.ts';
import {
  argument,
  type CommandSpec,
  type Invocation,
  isSet,
  passphraseFlag,
  text,
} from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'All or nothing: a truncated, damaged, or modified backup changes nothing. A backup of another host requires its passphrase, or the key that signed it with --key. A key that `imago keys trust` trusts to sign images is not trusted to sign a backup.',
  args: [{ name: 'FILE', description: 'Backup file', completes: 'file' }],
  flags: {
    'with-keys': { description: 'Also restore the keys in the backup' },
    key: {
      description: 'Public key that signed the backup, from `imago keys show` on the host that made it',
      value: 'FILE',
      completes: 'file',
    },
    ...passphraseFlag,
    'dry-run': { description: 'Verify and load the backup without committing it' },
  },
  examples: [
    ['imago restore imago.backup --dry-run', 'Check that it can be restored'],
    ['imago restore imago.backup --key old.pub', 'Restore a backup of another host'],
  ],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const passphrase = await readPassphrase(invocation);
    const found = await stat(file).catch((cause) => {
      throw new ImagoError('file-missing', `File ${file} not found.`, { cause });
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
        ...keyValueLines({
          'made at': madeAt,
          'made by': madeBy,
          signer,
          tables,
          rows,
          keys: keysRestored ? 'restored' : 'not restored',
        }),
        ...(copy.length === 0 ? [] : ['Not in the backup; copy from the host that made it:']),
        ...copy.map(({ what, path }) => `  ${path}  ${what}`),
        ...missingDisks.map((name) => `The disk of ${name} is missing: run imago problem list`),
      ];
    });
  },
};

async function readKey(invocation: Invocation): Promise<string | undefined> {
  const file = text(invocation, 'key');
  if (file === undefined) return undefined;
  const [key, other] = readPublicKeys(await readText(file), file);
  if (other === undefined) return key?.publicKey;
  throw new ImagoError('key-invalid', `${file} contains several keys, but only one signed the backup.`, {
    hint: 'Save the active key with `imago keys show > old.pub` on the host that made the backup.',
  });
}
