// The forms of texts that several fields of the node config share.
import type { TextForm } from './field.ts';

const dnsLabel = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const dnsName = `${dnsLabel}(?:\\.${dnsLabel})*`;
const ipv4 = '(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
const hex = '[0-9A-Fa-f]{1,4}';
const ipv6 = `(?:${[
  `(?:${hex}:){7}${hex}`,
  `(?:${hex}:){1,7}:`,
  ...[6, 5, 4, 3, 2, 1].map((left) => `(?:${hex}:){1,${left}}(?::${hex}){1,${7 - left}}`),
  `:(?::${hex}){1,7}`,
  '::',
].join('|')})`;
const host = `(?:${dnsName}|\\[${ipv6}\\])`;
const port = '(?::[0-9]{1,5})?';

export const nodeNameForm = {
  pattern: `^${dnsName}$`,
  says: 'a DNS name in lower case',
} as const satisfies TextForm;

export const labelKey = {
  pattern: `^(?:${dnsName}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`,
  says: 'a label key, like `example.com/team`',
} as const satisfies TextForm;

export const labelValue = {
  pattern: '^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$',
  says: 'a label value: at most 63 letters, digits, dots, dashes and underscores',
} as const satisfies TextForm;

export const httpsUrl = {
  pattern: `^https://${host}${port}(?:/[^\\s#]*)?$`,
  says: 'an https address',
} as const satisfies TextForm;

export const httpUrl = {
  pattern: `^https?://${host}${port}(?:/[^\\s#@]*)?$`,
  says: 'an http or https address without user and password',
} as const satisfies TextForm;

export const ipAddress = {
  pattern: `^(?:${ipv4}|${ipv6})$`,
  says: 'an IP address',
} as const satisfies TextForm;

export const dnsNameForm = {
  pattern: `^${dnsName}\\.?$`,
  says: 'a DNS name in lower case',
} as const satisfies TextForm;

export const serverName = {
  pattern: `^(?:${dnsName}|${ipv4}|${ipv6})$`,
  says: 'a DNS name or an IP address',
} as const satisfies TextForm;

export const registryHost = {
  pattern: `^(?:_default|(?:${dnsName}|${ipv4}|\\[${ipv6}\\])${port})$`,
  says: 'the host of a registry, like `registry.example.com`, or `_default`',
} as const satisfies TextForm;

export const imageReference = {
  pattern:
    '^[a-z0-9][a-z0-9._:-]*(?:/[a-z0-9][a-z0-9._-]*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$',
  says: 'a reference to a container image, like `registry.example.com/pause:3.10`',
} as const satisfies TextForm;

export const pem = {
  pattern:
    '^(?:-----BEGIN CERTIFICATE-----\\r?\\n(?:[A-Za-z0-9+/=]{1,76}\\r?\\n)+-----END CERTIFICATE-----\\s*)+$',
  says: 'one or more certificates in PEM',
  hint: 'It begins with `-----BEGIN CERTIFICATE-----`; private keys do not belong here.',
} as const satisfies TextForm;

export const absolutePath = {
  pattern: '^/(?!.*(?:^|/)\\.{1,2}(?:/|$))(?!.*//)[^\\s\\u0000]*[^/\\s\\u0000]$',
  says: 'an absolute path without `.`, `..`, doubled slashes and blanks',
} as const satisfies TextForm;

export const unitName = {
  pattern:
    '^[A-Za-z0-9:_.\\\\@][A-Za-z0-9:_.\\\\@-]{0,239}\\.(?:service|socket|mount|automount|swap|target|path|timer|slice)$',
  says: 'the name of a systemd unit, like `example.service`',
} as const satisfies TextForm;

export const userName = {
  pattern: '^[a-z_][a-z0-9_-]{0,31}$',
  says: 'a user name: lower-case letters, digits, dashes and underscores, at most 32',
} as const satisfies TextForm;

export const fileMode = { pattern: '^[0-7]{3,4}$', says: 'octal, like "0644"' } as const satisfies TextForm;

export const fileOwner = {
  pattern: '^(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10}):(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})$',
  says: 'USER:GROUP, like `root:root`',
} as const satisfies TextForm;

export const publicKey = {
  pattern:
    '^(?:[a-zA-Z][^\\s]* )?(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\\.com|sk-ecdsa-sha2-nistp256@openssh\\.com) [A-Za-z0-9+/]{40,}={0,3}(?: .*)?$',
  says: 'a public key of ssh on one line',
  hint: 'Give what stands in a `.pub` file.',
} as const satisfies TextForm;

export const sha256Form = {
  pattern: '^[0-9a-f]{64}$',
  says: 'a sha256: 64 digits in lower-case hexadecimal',
} as const satisfies TextForm;

export const componentName = {
  pattern: '^[a-z0-9][a-z0-9+.-]{0,62}$',
  says: 'the name of a component',
} as const satisfies TextForm;

export const versionText = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9.+:~_-]{0,99}$',
  says: 'a version, like 1.34.2',
} as const satisfies TextForm;

export const quantity = {
  pattern: '^[0-9]+(?:\\.[0-9]+)?(?:m|k|[KMGTPE]i?)?$',
  says: 'a quantity, like 500m or 2Gi',
} as const satisfies TextForm;

export const percentOrQuantity = {
  pattern: '^(?:[0-9]+(?:\\.[0-9]+)?%|[0-9]+(?:\\.[0-9]+)?(?:m|k|[KMGTPE]i?)?)$',
  says: 'a quantity or a share, like 100Mi or 10%',
} as const satisfies TextForm;

export const goDuration = {
  pattern: '^(?:0|(?:[0-9]+(?:\\.[0-9]+)?(?:h|ms|m|s))+)$',
  says: 'a duration, like 30s or 2m',
} as const satisfies TextForm;

export const cpuSet = {
  pattern: '^[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*$',
  says: 'a list of processors, like 0-1,3',
} as const satisfies TextForm;
