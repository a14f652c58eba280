// Backs up the database to a file.
import { maxEnvelopeBytes, readEnvelope } from '../../../domain/backup/envelope.ts';
import { readPassphrase } from '../../input/read-passphrase.ts';
import { writeAtomically } from '../../output/write-atomically.ts';
import { argument, type CommandSpec, isSet, passphraseFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'Contains all records, including operations in progress, for another PostgreSQL or major version. It is signed, and encrypted if you pass a passphrase. It does not contain disks: the output lists what else to copy.',
  args: [{ name: 'FILE', description: 'Path of the backup file; - for standard output', completes: 'file' }],
  flags: {
    'with-keys': { description: 'Include the signing keys and the webhook key; requires a passphrase' },
    ...passphraseFlag,
  },
  examples: [
    ['imago backup imago.backup', 'Back up before an upgrade'],
    ['imago backup imago.backup --with-keys --passphrase-file pass.txt', 'Back up to move to another host'],
  ],
  async run(invocation) {
    const passphrase = await readPassphrase(invocation);
    const client = await invocation.client();
    const file = argument(invocation, 'FILE');
    const withKeys = isSet(invocation, 'with-keys');
    const content = await client.backup({ signal: invocation.signal, withKeys, passphrase });
    let head = '';
    async function* watched(): AsyncGenerator<Uint8Array> {
      for await (const chunk of content) {
        if (head.length < maxEnvelopeBytes) head += Buffer.from(chunk).toString('latin1');
        yield chunk;
      }
    }
    const bytes = await writeAtomically(file, watched());
    if (file === '-') return;
    const envelope = readEnvelope(head)?.envelope;
    const { signer, holds = [], copy = [] } = envelope ?? {};
    const encrypted = envelope?.salt !== undefined;
    invocation.out.thing({ file, bytes, signer, encrypted, holds, copy }, file, () => [
      `Wrote ${file}: ${bytes} bytes, signed by key ${signer}${encrypted ? ', encrypted' : ''}`,
      `It contains ${holds.join(' and ')}. Not included; copy to move to another host:`,
      ...copy.map(({ what, path }) => `  ${path}  ${what}`),
    ]);
  },
};
