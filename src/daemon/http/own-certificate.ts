// Creates the certificate of the API beyond loopback if none was given, signed by a certificate authority of this state
// directory, which clients need as IMAGO_CA. OpenSSL writes both.
import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { writeFileDurably } from '../../host/files/durable-files.ts';
import { authorityExtensions, type CertificateRequest, makeCertificate } from '../../host/tls/certificate.ts';
import { installCommand } from '../doctor/probe.ts';

export interface OwnCertificate {
  /** The certificate and its key, in one file so that they always belong together. */
  readonly certificate: string;
  readonly key: string;
  /** Certificate of the authority, for clients. */
  readonly ca: string;
}

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
const SERVER_DAYS = 825;
/** The daemon creates a new certificate at its start if the current one expires sooner than this. */
const RENEW_DAYS = 90;

/**
 * Returns the certificate for `host`. Calling it again returns the same one, unless it expires soon or is missing a name.
 * The authority stays, so that clients trust the new certificate too.
 */
export async function ensureOwnCertificate(home: string, host: string): Promise<OwnCertificate> {
  const folder = join(home, 'tls');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = {
    ca: join(folder, 'ca.pem'),
    caKey: join(folder, 'ca.key'),
    server: join(folder, 'server.pem'),
  };
  const names = namesOf(host);
  const authority = readCertificate(files.ca);
  const usable = authority !== undefined && readKey(files.caKey) && isFresh(authority);
  if (!usable) await makeAuthority(folder, files);
  const server = usable ? readCertificate(files.server) : undefined;
  const fits =
    server?.checkIssued(authority as X509Certificate) &&
    isFresh(server) &&
    names.every((name) => covers(server, name));
  if (!fits) await makeServer(folder, files, names);
  return { certificate: files.server, key: files.server, ca: files.ca };
}

/** Returns the SHA-256 fingerprint of the first certificate of a PEM file, as other tools print it. */
export function fingerprintOf(pem: string | Buffer): string {
  const { raw } = new X509Certificate(pem);
  return `sha256:${createHash('sha256').update(raw).digest('hex')}`;
}

/** Returns the names and addresses of this host. A wildcard address includes all of them. */
function namesOf(host: string): readonly string[] {
  const all = host === '0.0.0.0' || host === '::';
  const own = Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  );
  const names = ['localhost', '127.0.0.1', '::1', hostname(), ...(all ? own : [host])];
  return [...new Set(names)].filter(
    (name) => isIP(name) !== 0 || /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(name),
  );
}

function covers(certificate: X509Certificate, name: string): boolean {
  const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
  return found !== undefined;
}

function isFresh({ validFrom, validTo }: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(validFrom) <= now && Date.parse(validTo) > now + RENEW_DAYS * DAY_MS;
}

async function makeAuthority(
  folder: string,
  files: { readonly ca: string; readonly caKey: string },
): Promise<void> {
  const { certificate, key } = await makeOwn({
    ...{ folder, days: AUTHORITY_DAYS, extensions: authorityExtensions },
    subject: `/CN=Imago CA of ${hostname().slice(0, 40)}`,
  });
  await writeFileDurably(files.caKey, key);
  await writeFileDurably(files.ca, certificate);
}

async function makeServer(
  folder: string,
  files: { readonly ca: string; readonly caKey: string; readonly server: string },
  names: readonly string[],
): Promise<void> {
  const alternatives = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
  const { certificate, key } = await makeOwn({
    ...{ folder, days: SERVER_DAYS, subject: '/CN=Imago' },
    extensions: [
      'basicConstraints=critical,CA:FALSE',
      'keyUsage=critical,digitalSignature',
      'extendedKeyUsage=serverAuth',
      `subjectAltName=${alternatives}`,
    ],
    issuer: { certificate: files.ca, key: files.caKey },
  });
  await writeFileDurably(files.server, `${certificate}${key}`);
}

async function makeOwn(
  request: CertificateRequest,
): Promise<{ readonly certificate: string; readonly key: string }> {
  try {
    return await makeCertificate(request);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.code !== 'tool-missing' && error.code !== 'tool-failed') throw thrown;
    throw new ImagoError(
      'tls-required',
      `TCP beyond loopback needs TLS, and no certificate can be created: ${error.message}`,
      {
        cause: thrown,
        hint: `Install OpenSSL 3 (\`${installCommand('openssl')}\`), or pass --tls-cert and --tls-key.`,
      },
    );
  }
}

function readCertificate(path: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(path));
  } catch {
    return undefined;
  }
}

function readKey(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').includes('PRIVATE KEY');
  } catch {
    return false;
  }
}
