// Signed statements: in-toto statements about a version in DSSE envelopes, as cosign and others read them.
import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import { type Digest, hexOf } from '../layout/digest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import type { SigningKey } from './key-folder.ts';

export interface Statement {
  readonly _type: string;
  readonly subject: readonly { readonly name: string; readonly digest: Readonly<Record<string, string>> }[];
  readonly predicateType: string;
  readonly predicate: unknown;
}

const statementSchema = z.looseObject({
  _type: z.string(),
  subject: z.array(z.looseObject({ name: z.string().default(''), digest: z.record(z.string(), z.string()) })),
  predicateType: z.string(),
  predicate: z.unknown(),
});

const envelopeSchema = z.looseObject({
  payloadType: z.string(),
  payload: z.base64(),
  signatures: z.array(z.looseObject({ sig: z.base64(), keyid: z.string().optional() })),
});

export function statementOf(digest: Digest, name: string, predicateType: string, predicate: Json): Statement {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name, digest: { sha256: hexOf(digest) } }],
    predicateType,
    predicate,
  };
}

export function signStatement(statement: Statement, key: SigningKey): Buffer {
  const payload = Buffer.from(JSON.stringify(statement));
  const signature = sign('sha256', preAuthEncoding(mediaTypes.inToto, payload), key.privateKey);
  return Buffer.from(
    JSON.stringify({
      payloadType: mediaTypes.inToto,
      payload: payload.toString('base64'),
      signatures: [{ keyid: '', sig: signature.toString('base64') }],
    }),
  );
}

/**
 * The statement, and which of the keys signed it: the empty list when none did. `signature-invalid` when the
 * envelope cannot be read at all.
 */
export function openEnvelope<K extends { readonly publicKey: KeyObject }>(
  envelope: Uint8Array,
  keys: readonly K[],
): { readonly statement: Statement; readonly signedBy: readonly K[] } {
  const { payloadType, payload, signatures } = parse(envelopeSchema, envelope, 'an envelope');
  const bytes = Buffer.from(payload, 'base64');
  const signed = preAuthEncoding(payloadType, bytes);
  const signedBy = keys.filter(({ publicKey }) =>
    signatures.some(({ sig }) => verify('sha256', signed, publicKey, Buffer.from(sig, 'base64'))),
  );
  return { statement: parseStatement(bytes), signedBy };
}

/** Throws `signature-invalid` if the bytes are not an in-toto statement. */
export function parseStatement(bytes: Uint8Array): Statement {
  return parse(statementSchema, bytes, 'a statement');
}

/** Returns the bytes that a DSSE signature is made over. */
export function preAuthEncoding(type: string, payload: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `),
    payload,
  ]);
}

function parse<T>(schema: z.ZodType<T>, bytes: Uint8Array, what: string): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw new ImagoError('signature-invalid', `${what} of a signature cannot be read`, { cause });
  }
}
