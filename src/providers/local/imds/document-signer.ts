// Signs documents that a machine can show to others, as Azure does: PKCS #7 with the document and the certificate of
// the signer inside. The certificate is this host's own, and no cloud knows it.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeFileDurably } from '../../../host/files/durable-files.ts';
import { bits, der, integer, objectId, octets, sequence, set, tagged, text, time } from './der.ts';

export interface DocumentSigner {
  /** In PEM. Whoever trusts it can tell that this host signed. */
  readonly certificate: string;
  /** PKCS #7 in DER. */
  sign(document: string): Buffer;
}

const sha256 = sequence(objectId('2.16.840.1.101.3.4.2.1'));
const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));
const dataType = objectId('1.2.840.113549.1.7.1');
const signedDataType = objectId('1.2.840.113549.1.7.2');
const commonName = objectId('2.5.4.3');

const issuer = sequence(set(sequence(commonName, text('imago local metadata'))));
const [notBefore, notAfter] = [new Date('2020-01-01T00:00:00Z'), new Date('2120-01-01T00:00:00Z')];

/** Reads key and certificate from the file, or makes them there so that only this user can read them. */
export async function openDocumentSigner(file: string): Promise<DocumentSigner> {
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known !== undefined) {
    return documentSigner(createPrivateKey(known), new X509Certificate(known));
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = makeCertificate(privateKey);
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await writeFileDurably(file, key + certificate.toString(), 0o600);
  return documentSigner(privateKey, certificate);
}

/** One that is signed by itself. */
export function makeCertificate(key: KeyObject): X509Certificate {
  const content = sequence(
    tagged(0, integer(2)),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    issuer,
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
  );
  return new X509Certificate(sequence(content, ecdsaWithSha256, bits(sign('sha256', content, key))));
}

export function documentSigner(key: KeyObject, certificate: X509Certificate): DocumentSigner {
  const serial = Buffer.from(certificate.serialNumber, 'hex');
  return {
    certificate: certificate.toString(),
    sign(document) {
      const content = Buffer.from(document);
      const signer = sequence(
        integer(1),
        sequence(issuer, integer(serial)),
        sha256,
        ecdsaWithSha256,
        octets(sign('sha256', content, key)),
      );
      const signed = sequence(
        integer(1),
        set(sha256),
        sequence(dataType, tagged(0, octets(content))),
        der(0xa0, certificate.raw),
        set(signer),
      );
      return sequence(signedDataType, tagged(0, signed));
    },
  };
}
