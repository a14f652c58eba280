import { describe, expect, it } from 'vitest';
import { searchSecrets } from './secrets.ts';

const body = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
const hex = (length: number) => 'a1b2c3d4e5f6'.repeat(20).slice(0, length);
/** Not in one literal, so that this file holds nothing that looks like a secret itself. */
const pem = (kind: string) => `-----BEGIN ${kind}PRIVATE ${'KEY'}-----\n`;

function find(text: string, pieceSize = 1024 * 1024): readonly string[] {
  const bytes = Buffer.from(text, 'latin1');
  const search = searchSecrets(bytes.length);
  for (let at = 0; at < bytes.length; at += pieceSize) search.push(bytes.subarray(at, at + pieceSize));
  return search.end();
}

describe('is found', () => {
  const jwt = `eyJhbGciOiJSUzI1NiJ9.${`eyJ${hex(40)}`}.${hex(43)}`;
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    'a PKCS8 key': [pem('') + body, 'private-key'],
    'an RSA key': [pem('RSA ') + body, 'private-key'],
    'an encrypted RSA key': [
      `${pem('RSA ')}Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n${body}`,
      'private-key',
    ],
    'an OpenSSH key': [pem('OPENSSH ') + body, 'private-key'],
    'an indented key with carriage returns': [`${pem('EC ').trimEnd()}\r\n    ${body}`, 'private-key'],
    'a key in JSON': [`"${pem('').trimEnd()}\\n${body}"`, 'private-key'],
    'a key in base64': [Buffer.from(pem('RSA ') + body).toString('base64'), 'private-key'],
    'a plain key in base64': [Buffer.from(pem('') + body).toString('base64'), 'private-key'],
    'an EC key in base64': [Buffer.from(pem('EC ') + body).toString('base64'), 'private-key'],
    'an OpenSSH key in base64': [Buffer.from(pem('OPENSSH ') + body).toString('base64'), 'private-key'],
    'a kubeconfig with a key': [`    client-key-data: ${body}`, 'kubeconfig'],
    'a kubeconfig without a key': [
      'apiVersion: v1\nkind: Config\ncurrent-context: x\nusers: []',
      'kubeconfig',
    ],
    'a kubeconfig in JSON': ['{"kind": "Config", "current-context": "x"}', 'kubeconfig'],
    'a service account token': [jwt, 'token'],
    'a bearer token': [`Authorization: Bearer ${hex(40)}`, 'token'],
    'a bootstrap token': ['token: abcdef.0123456789abcdef\n', 'bootstrap-token'],
    'a bootstrap token in JSON': ['"token": "abcdef.0123456789abcdef"', 'bootstrap-token'],
    'an AWS key ID': [`AKIA${'Z7Q2W8E4R6T5Y3U1'}\n`, 'aws-key'],
    'an AWS secret': [`aws_secret_access_key = ${body.slice(0, 40)}`, 'aws-key'],
    'the credentials of a cluster in Azure': ['"aadClientSecret": "abc~defghij"', 'azure-credential'],
    'a service principal': [`{"clientId":"x","clientSecret":"${hex(40)}"}`, 'azure-credential'],
    'a storage key': [`AccountName=a;AccountKey=${hex(86)}==;`, 'connection-string'],
    'an access key': [`Endpoint=sb://a/;SharedAccessKey=${hex(43)}=`, 'connection-string'],
    'a shared access signature': [
      `https://a.example/c?sv=2024-01-01&sp=r&sig=${hex(43)}%3D`,
      'shared-access-signature',
    ],
    'a signature in another order': [
      `https://a.example/c?sig=${hex(43)}%3D&se=2024-01-01`,
      'shared-access-signature',
    ],
    'a registry password': [`{"auths":{"r":{"auth": "${hex(20)}"}}}`, 'registry-password'],
  };
  it.each(Object.entries(cases))('%s', (_, [text, kind]) => {
    expect(find(`before\0 ${text}\nafter`)).toContain(kind);
  });

  it.each(Object.entries(cases))('%s that is cut by a piece boundary', (_, [text, kind]) => {
    for (const size of [1024, 1031]) {
      for (let at = size - text.length; at <= size; at += 7) {
        expect(find(' '.repeat(Math.max(0, at)) + text, size)).toContain(kind);
      }
    }
  });
});

describe('is not reported', () => {
  it.each([
    ['the header of a key in a program', `${pem('OPENSSH ')}\0\0\0next string`],
    ['a public key', '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'],
    ['a certificate in base64', Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB').toString('base64')],
    ["AWS's example", `key AKIA${'IOSFODNN7'}EXAMPLE`],
    ['a managed identity', '"aadClientSecret": "msi"'],
    ['code', 'const token = getToken(); client_secret=os.environ["X"]; Bearer {token}; sig=None'],
  ])('%s', (_, text) => {
    expect(find(text)).toEqual([]);
  });
});

it('many anchors do not slow the search down without bound', () => {
  const anchors = ['token:', 'eyJ', 'sig=', 'PRIVATE KEY-----', 'AKIA', '"auth"', 'Bearer '];
  for (const anchor of anchors) {
    expect(find(anchor.repeat(Math.ceil((256 * 1024) / anchor.length)))).toEqual([]);
  }
});
