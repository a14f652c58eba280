// Verifies the signed attestation of a channel move with only a public key: no daemon, no database, no network.
// It shares no code with the signer, so that each checks the other.
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import * as z from 'zod';
import { movePredicateType } from '../../domain/channel/statement.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { quote } from '../../domain/value/quote.ts';

const envelopeSchema = z.looseObject({
  payloadType: z.string(),
  payload: z.base64(),
  signatures: z.array(z.looseObject({ sig: z.base64() })).max(100),
});

const gate = z.looseObject({
  gate: z.string(),
  passed: z.boolean(),
  needs: z.string(),
  value: z.string(),
  overridden: z.literal(true).optional(),
});

const move = z.looseObject({
  move: z.int(),
  image: z.string(),
  channel: z.string(),
  from: z.string().nullable(),
  to: z.string(),
  digest: z.string(),
  by: z.string(),
  why: z.string(),
  at: z.string(),
  policy: z
    .looseObject({
      passed: z.boolean(),
      gates: z.array(gate),
      override: z.looseObject({ by: z.string(), reason: z.string() }).optional(),
    })
    .nullable(),
  evidence: z.array(z.unknown()),
  composed: z.looseObject({ id: z.string() }).nullable(),
});

const statementSchema = z.looseObject({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(z.looseObject({ digest: z.record(z.string(), z.string()) })).min(1),
  predicateType: z.string(),
  predicate: z.unknown(),
});

/** The content of the attestation at the time of the move; the channel can have moved since. */
export type SignedMove = z.infer<typeof move>;

const payloadType = 'application/vnd.in-toto+json';

/** Throws `key-invalid` unless it is a public key in PEM, of the kind that Imago signs with. */
export function readPublicKey(pem: string, file: string): KeyObject {
  try {
    if (pem.includes('PRIVATE KEY')) throw new Error('it is a private key');
    const key = createPublicKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
    throw new Error('it is not ECDSA on the curve P-256');
  } catch (cause) {
    throw new ImagoError('key-invalid', `${file} is not a public key: ${(cause as Error).message}.`, {
      hint: 'Write it with `imago keys show > imago.pub`.',
      cause,
    });
  }
}

/**
 * Returns the move that one of the keys signed; `undefined` if the envelope is not about a move. Throws
 * `signature-missing` if none of the keys signed it, `signature-invalid` if it is unreadable or contradicts itself.
 */
export function openSignedMove(
  text: string,
  name: string,
  keys: readonly KeyObject[],
): SignedMove | undefined {
  const envelope = parse(envelopeSchema, text, `${name} is not a signed statement (DSSE)`);
  const payload = Buffer.from(envelope.payload, 'base64');
  const statement = parse(statementSchema, payload.toString('utf8'), `${name} holds no in-toto statement`);
  if (statement.predicateType !== movePredicateType) return undefined;
  const signed = Buffer.concat([
    Buffer.from(
      `DSSEv1 ${Buffer.byteLength(envelope.payloadType)} ${envelope.payloadType} ${payload.length} `,
    ),
    payload,
  ]);
  const isSigned = envelope.signatures.some(({ sig }) =>
    keys.some((key) => verify('sha256', signed, key, Buffer.from(sig, 'base64'))),
  );
  if (!isSigned || envelope.payloadType !== payloadType) {
    throw new ImagoError('signature-missing', `${name} bears no signature of the key that was given.`, {
      hint: 'Either it was changed, or another key signed it: see `imago keys list` where it was made.',
    });
  }
  const found = parse(move, JSON.stringify(statement.predicate ?? null), `${name} tells of no move`);
  const isAbout = statement.subject.some(({ digest }) => `sha256:${digest.sha256}` === found.digest);
  if (isAbout) return found;
  throw new ImagoError('signature-invalid', `${name} is signed for another digest than the move's.`);
}

function parse<T>(schema: z.ZodType<T>, text: string, otherwise: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ImagoError('signature-invalid', `${otherwise}: not JSON.`, { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `${quote(issue.path.join('.'))}: `;
  throw new ImagoError('signature-invalid', `${otherwise}: ${where}${issue?.message ?? 'malformed'}.`);
}
