// Finds secrets by their form, in a stream of bytes: linear time, bounded memory. Only the kind of a secret is reported,
// never the secret.

interface SecretRule {
  readonly id: string;
  /** Bytes that every secret of this kind has. Only where they are found is the pattern tried. */
  readonly anchor: string;
  /** How many bytes before and after the start of the anchor the pattern needs at most. */
  readonly before: number;
  readonly after: number;
  readonly pattern: RegExp;
}

const key = (id: string, anchor: string, value: RegExp, after = 160): SecretRule => ({
  id,
  anchor,
  before: 0,
  after,
  pattern: new RegExp(`^${anchor}["']?\\s{0,8}[:=]\\s{0,8}["']?(?:${value.source})`),
});

const rules: readonly SecretRule[] = [
  {
    id: 'private-key',
    anchor: 'PRIVATE KEY-----',
    before: 40,
    after: 400,
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY-----(?:\s|\\[nr])*(?:[A-Za-z-]{1,20}: [^\r\n]{0,80}(?:\s|\\[nr])+){0,2}[A-Za-z0-9+/]{32}/,
  },
  {
    id: 'private-key',
    anchor: 'PuTTY-User-Key-File-',
    before: 0,
    after: 40,
    pattern: /^PuTTY-User-Key-File-\d: \S/,
  },
  {
    id: 'private-key',
    anchor: 'AGE-SECRET-KEY-1',
    before: 0,
    after: 80,
    pattern: /^AGE-SECRET-KEY-1[A-Z0-9]{50}/,
  },
  {
    // The base64 of a PEM key: `-----BEGIN `, then up to two words, then `PRIVATE KEY`.
    id: 'private-key',
    anchor: 'LS0tLS1CRUdJTi',
    before: 0,
    after: 80,
    pattern:
      /^LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|BSU0EgUFJJVkFURSBLRVkt|BFQyBQUklWQVRFIEtFWS|BFTkNSWVBURUQgUFJJVkFURSBLRVkt|BPUEVOU1NIIFBSSVZBVEUgS0VZLS)/,
  },
  key('kubeconfig', 'client-key-data', /[A-Za-z0-9+/]{40}/),
  {
    id: 'token',
    anchor: 'eyJ',
    before: 0,
    after: 400,
    pattern: /^eyJ[A-Za-z0-9_-]{12,300}\.eyJ[A-Za-z0-9_-]{12}/,
  },
  key('bootstrap-token', 'token', /[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9.])/, 60),
  { id: 'token', anchor: 'Bearer ', before: 0, after: 60, pattern: /^Bearer [A-Za-z0-9._~+/-]{32}/ },
  { id: 'token', anchor: 'github_pat_', before: 0, after: 60, pattern: /^github_pat_[A-Za-z0-9_]{40}/ },
  { id: 'token', anchor: 'ghp_', before: 0, after: 60, pattern: /^ghp_[A-Za-z0-9]{36}/ },
  {
    id: 'aws-key',
    anchor: 'AKIA',
    before: 1,
    after: 24,
    pattern: /(?:^|[^A-Za-z0-9+/])AKIA(?![A-Z0-9]{9}EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9+/])/,
  },
  key('aws-key', 'aws_secret_access_key', /[A-Za-z0-9+/]{40}/),
  key('azure-credential', 'aadClientSecret', /(?!msi\b)[^"'\s]{8}/),
  key('azure-credential', 'clientSecret', /[A-Za-z0-9~._+/-]{32}/),
  key('azure-credential', 'client_secret', /[A-Za-z0-9~._+/-]{32}/),
  key('azure-credential', 'AZURE_CLIENT_SECRET', /[A-Za-z0-9~._+/-]{16}/),
  {
    id: 'connection-string',
    anchor: 'AccountKey=',
    before: 0,
    after: 110,
    pattern: /^AccountKey=[A-Za-z0-9+/]{86}==/,
  },
  {
    id: 'connection-string',
    anchor: 'SharedAccessKey=',
    before: 0,
    after: 80,
    pattern: /^SharedAccessKey=[A-Za-z0-9+/]{43}=/,
  },
  {
    id: 'shared-access-signature',
    anchor: 'sig=',
    before: 300,
    after: 400,
    pattern:
      /s[ev]=\d{4}-\d\d-\d\d[^\s"'<>]{0,300}[?&]sig=[A-Za-z0-9+/%]{43}|[?&]sig=[A-Za-z0-9+/%]{43}[^\s"'<>]{0,300}&s[ev]=\d{4}-\d\d-\d\d/,
  },
  key('registry-password', '"auth"', /[A-Za-z0-9+/]{12}/),
];

/** A kubeconfig without a key in it still has a server and a user. Its parts can be far from each other. */
const kubeconfigParts = ['current-context', 'kind: Config', '"kind":"Config"', '"kind": "Config"'] as const;
const maxKubeconfig = 1024 * 1024;

/** More than the widest pattern needs, so that no secret is lost between two pieces. */
const overlap = 1024;

export interface SecretSearch {
  /** A piece of the content, in order. It can be reused after the call. */
  push(piece: Buffer): void;
  /** The kinds of secrets that were found. */
  end(): readonly string[];
}

export function searchSecrets(size: number): SecretSearch {
  const found = new Set<string>();
  const parts = new Set<string>();
  let kept: Buffer = Buffer.alloc(0);

  return {
    push(piece) {
      const bytes = kept.length === 0 ? piece : Buffer.concat([kept, piece]);
      for (const rule of rules) if (!found.has(rule.id) && hasSecret(bytes, rule)) found.add(rule.id);
      if (size <= maxKubeconfig)
        for (const part of kubeconfigParts) if (bytes.includes(part)) parts.add(part);
      kept = Buffer.from(bytes.subarray(Math.max(0, bytes.length - overlap)));
    },
    end() {
      if (parts.has('current-context') && parts.size > 1) found.add('kubeconfig');
      return [...found];
    },
  };
}

function hasSecret(bytes: Buffer, { anchor, before, after, pattern }: SecretRule): boolean {
  for (let at = bytes.indexOf(anchor); at >= 0; at = bytes.indexOf(anchor, at + 1)) {
    if (pattern.test(bytes.toString('latin1', Math.max(0, at - before), at + after))) return true;
  }
  return false;
}
