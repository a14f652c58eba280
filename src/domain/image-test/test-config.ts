// What machines under test are told to be when nobody says otherwise: enough that every service of the image runs and
// the agent has something to apply, to keep and to keep to itself.
import { mapSecrets } from '../node-config/map-secrets.ts';
import { nodeRules, readNodeConfig } from '../node-config/read-node-config.ts';
import { currentSchemaVersion, type NodeConfig } from '../node-config/schema.ts';
import { type DiskFacts, hasUnit } from './image-check.ts';
import { kubeletUnit } from './software-checks.ts';

/** Opens nothing: each machine of each test has it, and may tell nobody. */
const throwawayToken = 'imagot.0throwaway0token';
const throwawayFile = {
  path: '/etc/imago-test',
  content: 'a throwaway secret of imago test\n',
  mode: '0600',
};

/** Of nobody: its key was thrown away. */
const noAuthority = `-----BEGIN CERTIFICATE-----
MIIBeTCCAR+gAwIBAgIUJmAh2W6VjwDvkqzb7iKQaqdOc5MwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTExNjA4MjYyMFoYDzIxMjYxMDIzMDgy
NjIwWjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AASa88If9KD2AQ9+lExvxtIvMjLRvwuwVSkmwq99VWfEKpM6U+YqRCWqYcWoThqF
F9yUqL7afDkMly5F8aRr/y2ho1MwUTAdBgNVHQ4EFgQUrUVLPSsw+3CCOkh7I9sX
Fehrj3MwHwYDVR0jBBgwFoAUrUVLPSsw+3CCOkh7I9sXFehrj3MwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBBCEYCDb/z4lK8mHIyqwCnjqTLFy06
E6sJk08tyamGWwIhALE5iTBA1q7Q22/LgUxgo67Vuhrdg5wYS9EGkNVFXb9e
-----END CERTIFICATE-----
`;

/** Nobody answers there: a kubelet is healthy while its cluster cannot be reached. */
const noCluster = { apiServer: 'https://127.0.0.1:1', ca: noAuthority, bootstrap: { token: throwawayToken } };

/** The same disk gives the same text: its digest is part of what a test says it was made of. */
export function testConfig(disk: DiskFacts | undefined): string {
  const config: NodeConfig = { schemaVersion: currentSchemaVersion, ...wantedOf(disk) };
  return JSON.stringify(config);
}

/** Of a disk that nobody could look into nothing is asked. */
function wantedOf(disk: DiskFacts | undefined): Partial<NodeConfig> {
  const abilities = disk?.agent?.abilities ?? [];
  const canJoin = ['kubernetes', 'bootstrap-token'].every((ability) => abilities.includes(ability));
  return {
    ...(abilities.includes('files') ? { files: [throwawayFile] } : {}),
    ...(hasUnit(disk, kubeletUnit) ? { kubelet: {}, ...(canJoin ? { kubernetes: noCluster } : {}) } : {}),
  };
}

/** Texts of a config that only the node may know: its secrets, and what files say that only root may read. */
export function secretTexts(config: string): readonly string[] {
  let read: NodeConfig;
  try {
    ({ config: read } = readNodeConfig(config, nodeRules));
  } catch {
    // The node will refuse it, and say why.
    return [];
  }
  const found = new Set<string>();
  mapSecrets(read, (text) => {
    found.add(text);
    return text;
  });
  for (const { content, mode } of read.files ?? []) {
    const [line = ''] = content.split('\n');
    if (mode !== undefined && /00$/.test(mode) && line.length >= 8) found.add(line);
  }
  return [...found];
}
