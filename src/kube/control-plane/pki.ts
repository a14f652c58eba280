// The authorities, certificates, and keys of a control plane, and the kubeconfigs of its own clients. etcd has an
// authority of its own, because the other one signs certificates for kubelets.
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileDurably } from '../../host/files/durable-files.ts';
import { authorityExtensions, type CertificateRequest, makeCertificate } from '../../host/tls/certificate.ts';

const dayMs = 86_400_000;
const authorityDays = 3650;
const certificateDays = 365;
const renewDays = 30;

/** The clients that the default roles of Kubernetes know by these names, and the administrator. */
const clients = {
  admin: '/O=system:masters/CN=imago-admin',
  'kube-controller-manager': '/CN=system:kube-controller-manager',
  'kube-scheduler': '/CN=system:kube-scheduler',
} as const;

/** Creates what is missing or expires within 30 days. The authorities stay, so that nodes keep trusting them. */
export async function ensurePki(folder: string, server: string, addresses: readonly string[]): Promise<void> {
  const authority = (name: string) => ({
    certificate: join(folder, `${name}.crt`),
    key: join(folder, `${name}.key`),
  });
  const ensure = async (name: string, request: Omit<CertificateRequest, 'folder'>) => {
    if (await isFresh(join(folder, `${name}.crt`))) return;
    const made = await makeCertificate({ folder, ...request });
    await writeFileDurably(join(folder, `${name}.key`), made.key, 0o600);
    await writeFileDurably(join(folder, `${name}.crt`), made.certificate, 0o600);
  };
  for (const name of ['ca', 'etcd-ca'])
    await ensure(name, {
      days: authorityDays,
      subject: `/CN=imago-${name}`,
      extensions: authorityExtensions,
    });
  const alternatives = [...addresses.map((address) => `IP:${address}`), 'DNS:localhost', 'DNS:kubernetes'];
  const leaf = (usage: string) => [
    ...['basicConstraints=critical,CA:FALSE', 'keyUsage=critical,digitalSignature'],
    `extendedKeyUsage=${usage}`,
  ];
  const names = `subjectAltName=${alternatives.join(',')}`;
  const days = certificateDays;
  await ensure('apiserver', {
    ...{ days, subject: '/CN=kube-apiserver', issuer: authority('ca') },
    extensions: [...leaf('serverAuth'), names],
  });
  await ensure('etcd', {
    ...{ days, subject: '/CN=etcd', issuer: authority('etcd-ca') },
    extensions: [...leaf('serverAuth,clientAuth'), names],
  });
  for (const [name, subject] of Object.entries(clients)) {
    await ensure(name, { days, subject, issuer: authority('ca'), extensions: leaf('clientAuth') });
    const file = join(folder, `${name}.kubeconfig`);
    await writeFileDurably(file, await kubeconfig(folder, name, server), 0o600);
  }
  await ensureAccountKey(folder);
}

async function isFresh(path: string): Promise<boolean> {
  try {
    return Date.parse(new X509Certificate(await readFile(path)).validTo) > Date.now() + renewDays * dayMs;
  } catch {
    return false;
  }
}

/** The key that service account tokens are signed with. */
async function ensureAccountKey(folder: string): Promise<void> {
  const path = join(folder, 'accounts.key');
  const known = await readFile(path, 'utf8').catch(() => '');
  if (known !== '') return;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFileDurably(
    join(folder, 'accounts.pub'),
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    0o600,
  );
  await writeFileDurably(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
}

async function kubeconfig(folder: string, name: string, server: string): Promise<string> {
  const data = async (file: string) => (await readFile(join(folder, file))).toString('base64');
  const user = {
    'client-certificate-data': await data(`${name}.crt`),
    'client-key-data': await data(`${name}.key`),
  };
  return `${JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'local' },
    clusters: [{ name: 'local', cluster: { server, 'certificate-authority-data': await data('ca.crt') } }],
    users: [{ name, user }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: name } }],
  })}\n`;
}
