// A server that answers what the registration of a cluster asks, over plain HTTP, with one node.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KubeServer {
  readonly address: string;
  /** The path of a kubeconfig for it. */
  readonly kubeconfig: string;
  /** Rights that its access reviews deny, as `VERB RESOURCE`. */
  readonly denied: Set<string>;
  version: string;
  uid: string;
  close(): Promise<void>;
}

export const kubeToken = 'a-secret-token-of-the-cluster';

export async function startKubeServer(): Promise<KubeServer> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-kube-server-'));
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    if (request.headers.authorization !== `Bearer ${kubeToken}`) return send(response, 401, {});
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (path.endsWith('/selfsubjectaccessreviews')) {
      const { spec } = JSON.parse(text) as { spec: { resourceAttributes: Record<string, string> } };
      const { verb, resource, subresource } = spec.resourceAttributes;
      const name = subresource === undefined ? resource : `${resource}/${subresource}`;
      return send(response, 201, { status: { allowed: !kube.denied.has(`${verb} ${name}`) } });
    }
    const answers: Readonly<Record<string, object>> = {
      '/version': { gitVersion: kube.version },
      '/api/v1': { resources: [{ name: 'pods/eviction', kind: 'Eviction', group: 'policy', version: 'v1' }] },
      '/api/v1/namespaces/kube-system': { metadata: { name: 'kube-system', uid: kube.uid } },
      '/api/v1/nodes': { metadata: { resourceVersion: '1' }, items: [node] },
    };
    const answer = answers[path];
    return answer === undefined ? send(response, 404, {}) : send(response, 200, answer);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [{ name: 'test', cluster: { server: address } }],
      users: [{ name: 'test', user: { token: kubeToken } }],
    }),
    { mode: 0o600 },
  );
  const kube: KubeServer = {
    ...{ address, kubeconfig, denied: new Set(), version: 'v1.36.3', uid: 'the-cluster' },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return kube;
}

const node = {
  metadata: { name: 'a', labels: { 'imago.dev/pool': 'web' } },
  spec: { unschedulable: true },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    nodeInfo: { kubeletVersion: 'v1.35.1' },
  },
};

function send(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
