// Creates certificates with OpenSSL.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '../process/run-tool.ts';

export interface CertificateRequest {
  /** A directory that only this user can read, for temporary files. */
  readonly folder: string;
  readonly days: number;
  /** As OpenSSL writes it: `/O=system:masters/CN=admin`. */
  readonly subject: string;
  /** Such as `extendedKeyUsage=serverAuth`. */
  readonly extensions: readonly string[];
  /** Paths of the authority's files. Defaults to a self-signed certificate. */
  readonly issuer?: { readonly certificate: string; readonly key: string };
}

export const authorityExtensions = [
  'basicConstraints=critical,CA:TRUE,pathlen:0',
  'keyUsage=critical,keyCertSign,cRLSign',
] as const;

/** Returns the certificate and its key, in PEM. Throws `tool-missing` or `tool-failed`. */
export async function makeCertificate(
  request: CertificateRequest,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const { folder, days, subject, extensions, issuer } = request;
  const work = mkdtempSync(join(folder, 'new-'));
  const files = { certificate: join(work, 'cert.pem'), key: join(work, 'key.pem') };
  try {
    await runTool('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-batch'],
      ...['-days', String(days), '-subj', subject, '-keyout', files.key, '-out', files.certificate],
      ...extensions.flatMap((extension) => ['-addext', extension]),
      ...(issuer === undefined ? [] : ['-CA', issuer.certificate, '-CAkey', issuer.key]),
    ]);
    return { certificate: readFileSync(files.certificate, 'utf8'), key: readFileSync(files.key, 'utf8') };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
