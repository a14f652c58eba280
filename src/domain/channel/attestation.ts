// The signed statement of one channel move as it is recorded: a DSSE envelope, as cosign and in-toto read it.
import * as z from 'zod';
import { digest, timestamp } from '../value/fields.ts';

export const attestation = z.object({
  id: z.int(),
  move: z.int(),
  digest: digest.describe('Digest of the version that the channel moved to.'),
  predicateType: z.string(),
  envelope: z.string().describe('DSSE envelope with an in-toto statement.'),
  at: timestamp,
});
export type MoveAttestation = z.output<typeof attestation>;
