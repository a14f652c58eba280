// What is wrong with a node config is said with its field, the nearest name and what to do, and never with a secret.
import { describe, expect, it } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import { missingAbilities, requireAbilities } from './capabilities.ts';
import { describeFields, findField } from './describe-fields.ts';
import { maxConfigBytes, nodeRules, readNodeConfig, strictRules } from './read-node-config.ts';

const certificate = `-----BEGIN CERTIFICATE-----\n${'QUJD'.repeat(16)}\n-----END CERTIFICATE-----\n`;

function refusal(config: object | string, rules = strictRules): ImagoError {
  const text = typeof config === 'string' ? config : JSON.stringify({ schemaVersion: 1, ...config });
  try {
    readNodeConfig(text, rules);
  } catch (thrown) {
    if (thrown instanceof ImagoError) return thrown;
    throw thrown;
  }
  throw new Error('It was not refused.');
}

describe('a document that is no config', () => {
  it.each([
    ['', 'The document is empty.'],
    ['   \n', 'The document is empty.'],
    ['hunter2', 'The document is not JSON.'],
    ['{"token": "hunter2", }', 'The document is not JSON.'],
    ['[]', 'The document must be an object.'],
    ['null', 'The document must be an object.'],
    ['{}', 'schemaVersion is missing.'],
    ['{"schemaVersion":"1"}', 'schemaVersion must be a number.'],
    ['{"schemaVersion":2}', 'schemaVersion is 2, and this Imago reads 1.'],
  ])('%j: %s', (text, message) => {
    expect(refusal(text)).toMatchObject({ code: 'node-config-invalid', message });
  });

  it('that does not fit into instance metadata says by how much', () => {
    const big = JSON.stringify({
      schemaVersion: 1,
      files: [{ path: '/etc/x', content: 'ü'.repeat(30_000) }],
    });
    expect(refusal(big)).toMatchObject({ code: 'node-config-too-big' });
    expect(refusal(big).message).toContain(`${maxConfigBytes} fit`);
  });
});

describe('a field that is wrong', () => {
  it.each([
    [{ kubelt: {} }, 'kubelt is not a field of the node config.', 'Did you mean `kubelet`?'],
    [
      { kubelet: { maxpods: 3 } },
      'kubelet.maxpods is not a field of the node config.',
      'Did you mean `maxPods`?',
    ],
    [{ kubelet: { maxPods: 1.5 } }, 'kubelet.maxPods is 1.5, and must be a whole number.', undefined],
    [{ kubelet: { maxPods: null } }, 'kubelet.maxPods must be a number, and is null.', undefined],
    [
      { node: { labels: { 'a b': 'x' } } },
      'node.labels["a b"] has a name that is not a label key',
      undefined,
    ],
    [
      { node: { labels: { 'kubernetes.io/role': 'x' } } },
      'is a label that Kubernetes keeps from nodes',
      undefined,
    ],
    [
      { network: { dns: { servers: ['1.2.3.4', '1.2.3.4'] } } },
      'network.dns.servers[1] repeats "1.2.3.4".',
      undefined,
    ],
    [
      { network: { dns: { servers: ['::1::'] } } },
      'network.dns.servers[0] is "::1::", which is not an IP address.',
      undefined,
    ],
    [
      { system: { sysctl: { 'kernel.panic': '1\n2' } } },
      'has a line break or another control character',
      undefined,
    ],
    [
      { system: { limits: { nofile: 1.5 } } },
      'system.limits.nofile is 1.5, and must be a whole number.',
      undefined,
    ],
    [
      { files: [{ path: '/usr/lib/imago/agent.js', content: '' }] },
      'belongs to the system or to Imago',
      undefined,
    ],
    [
      {
        files: [
          { path: '/etc/a', content: '' },
          { path: '/etc/a/b', content: '' },
        ],
      },
      'lies below /etc/a, which is a file',
      undefined,
    ],
    [
      { units: [{ name: 'a.service', state: 'masked', dropIn: 'x' }] },
      'units[0] is masked, and so cannot have content.',
      undefined,
    ],
    [
      { units: [{ name: 'imago-agent.service', state: 'disabled' }] },
      'a unit of the agent, which a config cannot switch off',
      undefined,
    ],
    [{ kubelet: { more: { maxPods: 3 } } }, 'is a field of its own: write kubelet.maxPods', undefined],
    [{ kubelet: { more: { clusterDNS: [] } } }, 'is set by Imago from other fields', undefined],
    [
      { kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 } },
      'must be below imageGCHighThresholdPercent (50)',
      undefined,
    ],
    [{ network: { cni: { config: { name: 'x' } } } }, 'network.cni.config.cniVersion is missing.', undefined],
    [{ users: [{ name: 'a' }, { name: 'a' }] }, 'users[1] repeats "a".', undefined],
  ])('%j', (config, message, hint) => {
    const error = refusal(config);
    expect(error.message).toContain(message);
    if (hint !== undefined) expect(error.hint).toBe(hint);
  });

  it('has every other one named as well', () => {
    const error = refusal({ kubelet: { maxPods: 0 }, node: { nam: 'x' }, time: { zone: 3 } });
    expect(error.message.split('\n')).toHaveLength(3);
    expect(error.details?.problems).toHaveLength(3);
  });
});

describe('rule 10: a secret', () => {
  const withToken = (token: string) => ({
    kubernetes: { apiServer: 'https://api.example.com', ca: certificate, bootstrap: { token } },
  });

  it('is not in the error, whatever is wrong with it', () => {
    for (const secret of ['hunter2', 'hunter2\n', 'hunter2'.repeat(500)]) {
      const error = refusal(withToken(secret));
      expect(JSON.stringify(error.toRecord())).not.toContain('hunter2');
    }
    const key = certificate.replace('CERTIFICATE', 'PRIVATE KEY').replace('QUJD', 'hunter2');
    expect(refusal({ trust: [{ name: 'a', certificate: key }] }).message).not.toContain('hunter2');
  });

  it('is stored by its name, and never as a name on a node', () => {
    const named = JSON.stringify({ schemaVersion: 1, ...withToken('secret:join') });
    const plain = JSON.stringify({ schemaVersion: 1, ...withToken('abcdef.0123456789abcdef') });
    const stored = { unknown: 'refuse', secrets: 'named' } as const;
    expect(readNodeConfig(named, stored).ignored).toEqual([]);
    expect(refusal(plain, stored).message).toContain('names secrets instead of holding them');
    expect(readNodeConfig(plain, nodeRules).ignored).toEqual([]);
    expect(refusal(named, nodeRules).message).toContain('is not a bootstrap token');
  });
});

describe('what a config requires', () => {
  const offered = { abilities: ['cni', 'kubelet'] };
  const versionsOf = (name: string) => (name === 'kubelet' ? ['1.34.2'] : []);

  it('is missing when the image lacks the ability, the component or its version', () => {
    const requires = [
      'cni',
      'proxy',
      'component:kubelet',
      'component:kubelet=1.34.2',
      'component:kubelet=1.35.0',
      'component:x',
    ];
    expect(missingAbilities(requires, offered, versionsOf)).toEqual([
      'proxy',
      'component:kubelet=1.35.0',
      'component:x',
    ]);
  });

  it('is refused loudly, with the nearest name', () => {
    expect(() => requireAbilities(['kublet'], offered, versionsOf)).toThrow('requires kublet');
    try {
      requireAbilities(['kublet'], offered, versionsOf);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'node-config-requires', hint: 'Did you mean `kubelet`?' });
    }
  });
});

describe('every field', () => {
  it('says what it does in a sentence, since when it is there, and has a path of its own', () => {
    const all = describeFields();
    for (const { field, since } of all) {
      expect(field.about).toMatch(/^[A-Z].*\.$/s);
      expect(since).toBe('1.0');
    }
    expect(new Set(all.map(({ path }) => path)).size).toBe(all.length);
  });

  it('is found by what people write', () => {
    expect(findField('files[3].path')?.path).toBe('files[].path');
    expect(findField('files.path')?.path).toBe('files[].path');
    expect(findField('runtime.mirrors["example.com"]')?.path).toBe('runtime.mirrors.*');
    expect(findField('node.labels.team')?.path).toBe('node.labels.*');
    expect(findField('nothing')).toBeUndefined();
  });

  it('has a default that it would take itself', () => {
    for (const { path, field } of describeFields()) {
      if (field.default === undefined || path.includes('[]') || path.includes('*')) continue;
      const nested = path
        .split('.')
        .reduceRight<unknown>((inner, name) => ({ [name]: inner }), field.default);
      const config = { schemaVersion: 1, ...(nested as object) };
      if (path.startsWith('kubernetes') || path.startsWith('network.cni')) continue;
      expect(() => readNodeConfig(JSON.stringify(config), strictRules)).not.toThrow();
    }
  });
});
