// The example of a Kubernetes node on a real machine: ready only with a healthy kubelet, a pod that tries the instance
// metadata, and both ways to the first credentials, asked for by the real kubelet.
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createPlainServer, type Server as PlainServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { openMachineHost } from '../../src/providers/local/host/open.ts';
import { openTokenIssuer } from '../../src/providers/local/imds/local-token.ts';
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { type AgentMachine, buildAgentImage, startAgentMachine } from '../support/agent-machine.ts';
import { writeContainerImage } from '../support/container-image.ts';
import { kubernetesMs, testedKubernetes } from '../support/kubernetes.ts';
import { patience } from '../support/speed.ts';
import { hostCertificate, testKey } from '../support/tls-fixture.ts';

const examples = join(import.meta.dirname, '../../examples');
/** How a machine calls the computer that it runs on. */
const outside = '168.63.129.1';
const token = 'abcdef.0123456789abcdef';

let folder: string;
let host: MachineHost;
let api: Server;
let apiUrl: string;
let open: PlainServer;
let machine: AgentMachine;
let standalone: Record<string, unknown>;
/** What was asked of the API server, with the credentials that it came with. */
const asked: { readonly what: string; readonly bearer: string }[] = [];

const probeRecipe = `extends: imago.yaml
name: node-probe
components:
  - name: agent-settings
    version: "1"
    from:
      file: agent.json
    to: /etc/imago/agent.json
    mode: "0644"
images:
  - name: example.test/probe:1
    from:
      layout: probe
    pinned: true
`;

/** The example's recipe with one more container image: it waits, and is also the pods' sandbox. */
async function writeRecipe(): Promise<string> {
  const recipes = join(folder, 'recipes');
  for (const name of ['common', 'node'])
    await cp(join(examples, name), join(recipes, name), { recursive: true });
  await rm(join(recipes, 'node', 'kubernetes'), { force: true });
  await symlink(kubernetesFolder(), join(recipes, 'node', 'kubernetes'));
  const command = ['/bin/busybox', 'sleep', '1000000'];
  await writeContainerImage(join(recipes, 'node', 'probe'), { tag: '1', greeting: 'probe', command });
  const file = join(recipes, 'node', 'probe.yaml');
  await writeFile(join(recipes, 'node', 'agent.json'), JSON.stringify({ readyDeadlineMs: 1_500_000 }));
  await writeFile(file, probeRecipe);
  return file;
}

/** Says again and again what a pod reaches: the metadata, and for comparison the world outside. */
function probePod(port: number): string {
  const get = '/bin/busybox wget -q -T 5 -O - --header Metadata:true';
  const address = 'http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text';
  const script = [
    `echo "metadata: $(${get} '${address}' 2>&1)"`,
    `echo "outside: $(${get} http://${outside}:${port}/ 2>&1)"`,
    '/bin/busybox sleep 2',
  ].join('; ');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'probe',
          image: 'example.test/probe:1',
          imagePullPolicy: 'Never',
          command: ['/bin/busybox', 'sh', '-c', `while true; do ${script}; done`],
        },
      ],
    },
  });
}

/** A busy computer that emulates a machine takes its time. */
const patient = { more: { runtimeRequestTimeout: '15m' } };

const network = {
  cni: {
    config: {
      cniVersion: '1.0.0',
      name: 'pods',
      plugins: [
        {
          type: 'bridge',
          bridge: 'pods0',
          isGateway: true,
          ipMasq: true,
          ipam: {
            type: 'host-local',
            ranges: [[{ subnet: '10.88.0.0/24' }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
      ],
    },
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-km-'));
  await testedKubernetes();
  const image = await buildAgentImage(folder, await writeRecipe());
  host = await openMachineHost({
    folder: join(folder, 'host'),
    socketFolder: join(folder, 's'),
    accelerator: { name: 'tcg', reason: 'the test says so' },
  });
  open = createPlainServer((_, response) => response.end('reached'));
  const openPort = await listen(open);
  api = createServer({ key: testKey, cert: hostCertificate }, (request, response) => {
    const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    asked.push({ what: `${request.method} ${request.url}`, bearer });
    if (request.url === '/bootstrap') response.end(kubeconfig('from-identity'));
    else response.writeHead(403, { 'content-type': 'application/json' }).end(forbidden);
  });
  apiUrl = `https://${outside}:${await listen(api)}`;
  standalone = {
    schemaVersion: 1,
    kubelet: patient,
    runtime: { sandboxImage: 'example.test/probe:1' },
    network,
    files: [{ path: '/etc/kubernetes/manifests/probe.json', content: probePod(openPort) }],
  };
  machine = await startAgentMachine(host, image, {
    ...{ folder, name: 'kube', document: standalone, memoryMb: 1024, cpus: 2 },
  });
}, kubernetesMs);
afterAll(async () => {
  await host?.close({ leaveRunning: false, deadlineMs: 1000 });
  api?.close();
  api?.closeAllConnections();
  open?.close();
  await rm(folder, { recursive: true, force: true });
});

const forbidden = JSON.stringify({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 },
});

function kubeconfig(bearer: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: { server: apiUrl, 'certificate-authority': '/var/lib/kubelet/ca.crt' },
      },
    ],
    users: [{ name: 'bootstrap', user: { token: bearer } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'cluster', user: 'bootstrap' } }],
    'current-context': 'bootstrap',
  });
}

function listen(server: Server | PlainServer): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function out(script: string): Promise<string> {
  return (await machine.run(script)).stdout.trim();
}

async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const end = performance.now() + patience(500_000);
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`${what}: ${JSON.stringify(asked.slice(-5))}`);
    await sleep(500);
  }
}

/** What the pod says from now on. */
async function podSays(text: string): Promise<string> {
  const log = '/var/log/pods/default_probe-*/probe/*.log';
  const from = Number(await out(`cat ${log} 2>/dev/null | wc -l`));
  return until(`the pod says ${text}`, async () => {
    const said = await out(`tail -n +${from + 1} ${log} 2>/dev/null`);
    return said.includes(text) ? said : undefined;
  });
}

/** What a node that was asked to take a config says once it has decided. */
async function settle(document: unknown) {
  const { digest } = (await machine.reported(({ config }) => config !== undefined)).config ?? {};
  await machine.setConfig(document);
  return machine.reported(({ error, config }) => error !== undefined || config?.digest !== digest);
}

/** To leave a cluster again would cost a new disk. */
function joined() {
  return { ...standalone, kubernetes: { apiServer: apiUrl, ca: hostCertificate, bootstrap: { token } } };
}

/** Each change of a kubelet takes minutes of an emulated machine; that the agent asks and restores is shown by less. */
const soak = process.env.IMAGO_SOAK === '1';
const soakMs = 1_800_000;

describe('a machine of the example for Kubernetes nodes', () => {
  it('is ready when the kubelet says that it is healthy', async () => {
    const report = await machine.reported(({ phase }) => phase === 'ready' || phase === 'failed');
    expect(report).toMatchObject({ phase: 'ready' });
    const marks = report.timeline.map(({ name }) => name);
    expect(marks.indexOf('kubelet')).toBeGreaterThan(marks.indexOf('runtime'));
    expect(marks.indexOf('ready')).toBeGreaterThan(marks.indexOf('kubelet'));
    expect(await out('curl -s http://127.0.0.1:10248/healthz')).toBe('ok');
  });

  it('keeps a pod from the instance metadata, and from nothing else', async () => {
    const said = await podSays('outside: reached');
    expect(said).toContain('metadata: wget: ');
    expect(said).not.toContain('metadata: kube');
  });

  it('lets a pod reach it when it is told to, without a restart', async () => {
    const before = await out('systemctl show --property=MainPID kubelet containerd');
    const report = await settle({ ...standalone, network: { ...network, metadataForPods: 'open' } });
    expect(report).toMatchObject({ phase: 'ready' });
    expect(report.error).toBeUndefined();
    await podSays('metadata: kube');
    expect(await out('systemctl show --property=MainPID kubelet containerd')).toBe(before);
    expect((await settle(standalone)).error).toBeUndefined();
    await podSays('metadata: wget: ');
  });

  it.runIf(soak)(
    '(soak) gets its first credentials by the identity of the machine, from a server that only its config trusts',
    async () => {
      const resource = 'api://cluster';
      const report = await settle({
        ...standalone,
        trust: [{ name: 'cluster', certificate: hostCertificate }],
        kubernetes: {
          ...{ apiServer: apiUrl, ca: hostCertificate },
          bootstrap: { identity: { url: `${apiUrl}/bootstrap`, resource } },
        },
      });
      expect(report.error).toBeUndefined();
      const first = asked.find(({ what }) => what === 'GET /bootstrap');
      const issuer = await openTokenIssuer(join(folder, 'host', 'identity-key.pem'));
      expect(issuer.check(first?.bearer ?? '', resource, Date.now() / 1000)).toMatchObject({ name: 'kube' });
      await until('the kubelet asks', () => asked.find(({ bearer }) => bearer === 'from-identity'));
    },
  );

  it.runIf(soak)(
    '(soak) gets them by a token in its config, which nothing tells',
    async () => {
      const report = await settle(joined());
      expect(report.error).toBeUndefined();
      await until('the kubelet asks', () =>
        asked.find(({ what, bearer }) => bearer === token && what.includes('certificatesigningrequests')),
      );
      expect(
        await out(`grep -rl '${token}' /run/imago /var/lib/imago /etc; journalctl | grep '${token}'`),
      ).toBe('');
      expect((await host.console('kube', 1000)).join('\n')).not.toContain(token);
      expect(await out('stat -c %a /var/lib/kubelet/bootstrap-kubeconfig')).toBe('600');
    },
    soakMs,
  );

  it.runIf(soak)(
    '(soak) is never ready with a kubelet that is not healthy, and goes back to the config that was',
    async () => {
      await machine.run(
        `echo '{"readyDeadlineMs": 60000}' >/etc/imago/agent.json && systemctl restart imago-agent`,
      );
      const before = await machine.reported(({ phase, config }) => phase === 'ready' && config !== undefined);
      await machine.setConfig({ ...joined(), kubelet: { ...patient, featureGates: { NoSuchGate: true } } });
      const failed = await machine.reported(({ error }) => error !== undefined);
      expect(failed.config).toEqual(before.config);
      // It is ready again when the kubelet of the config that was is, which takes its time here.
      const report = await machine.reported(({ phase }) => phase === 'ready');
      expect(report).toMatchObject({
        phase: 'ready',
        config: before.config,
        error: { class: 'node-service-failed' },
      });
      expect(await out('curl -s http://127.0.0.1:10248/healthz')).toBe('ok');
      expect(await out('grep -c NoSuchGate /var/lib/kubelet/config.yaml')).toBe('0');
    },
    soakMs,
  );
});
