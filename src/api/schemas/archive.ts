// Backups and restores.
import * as z from 'zod';
import { backupEnvelope } from '../../domain/backup/envelope.ts';
import { listOf, record } from '../../domain/value/fields.ts';

export const backupQuery = z.strictObject({
  withKeys: z
    .enum(['true', 'false'])
    .default('false')
    .describe('Include the signing keys and the webhook key. Requires a passphrase.'),
});

export const restoreQuery = backupQuery.extend({
  key: z
    .string()
    .max(1000)
    .optional()
    .describe(
      "The public key that must have signed the backup, in PEM. Defaults to this host's own keys; a key that is " +
        'trusted to sign images is not trusted to sign a backup.',
    ),
});

export const restoreReport = record('RestoreReport', 'The result of a restore.', {
  ...backupEnvelope.omit({ salt: true }).shape,
  tables: z.int(),
  rows: z.int(),
  keysRestored: z.boolean(),
  missingDisks: listOf(z.string()).describe('Versions whose disk is missing here, `NAME:VERSION`.'),
});
