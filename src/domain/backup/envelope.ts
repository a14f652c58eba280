// The readable first lines of a backup: who signed it and what it holds. They are the only part that is read before
// the signature is verified, so their size and shape are fixed.
import * as z from 'zod';

export const backupMagic = 'imago-backup 2\n';
/** The maximum size of magic and envelope together. */
export const maxEnvelopeBytes = 16_384;

export const backupEnvelope = z.strictObject({
  madeAt: z.iso.datetime(),
  madeBy: z.string().max(100).describe('The version of Imago that made the backup.'),
  signer: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('The id of the key that signed the backup.'),
  holds: z.array(z.enum(['records', 'keys'])),
  copy: z
    .array(z.strictObject({ what: z.string().max(200), path: z.string().max(4096) }))
    .max(20)
    .describe('What the backup does not hold, and where it is on the host that made it.'),
  /** The salt of the key that is derived from the passphrase. */
  salt: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
});
export type BackupEnvelope = z.infer<typeof backupEnvelope>;

/** Returns the envelope and where the content starts, or `undefined` if the bytes do not start with an envelope. */
export function readEnvelope(
  head: string,
): { readonly envelope: BackupEnvelope; readonly length: number } | undefined {
  const end = head.indexOf('\n', backupMagic.length);
  if (!head.startsWith(backupMagic) || end === -1) return undefined;
  try {
    const parsed = backupEnvelope.safeParse(JSON.parse(head.slice(backupMagic.length, end)));
    return parsed.success ? { envelope: parsed.data, length: end + 1 } : undefined;
  } catch {
    return undefined;
  }
}
