// What single steps write, where the whole agent's tests do not look.
import { describe, expect, it } from 'vitest';
import { memorySystem } from '../../../test/support/agent/memory-system.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { planFetcher, planOutside } from '../apply/fetch.ts';
import { render } from '../apply/render.ts';
import { kubeletDocument } from './kubelet.ts';
import { environmentText, noProxy, withBlock } from './network.ts';
import { sysctlPath } from './system.ts';

const system = memorySystem({
  '/etc/passwd': 'root:x:0:0::/root:/bin/sh\n',
  '/etc/group': 'root:x:0:\n',
  '/usr/share/zoneinfo/Europe/Berlin': '',
  '/usr/lib/systemd/system/containerd.service': '',
  '/usr/lib/systemd/system/kubelet.service': '',
  '/etc/containerd/config.toml': 'version = 3\n',
});

async function rendered(config: Omit<NodeConfig, 'schemaVersion'>, address?: string) {
  const { changes, effects, running } = await render(system, {
    config: { schemaVersion: 1, ...config },
    name: 'n',
    fetcher: planFetcher,
    outside: { ...planOutside, nodeAddress: async () => address },
    within: (_, work) => work(),
  });
  const texts = new Map(
    changes.map(({ path, wanted }) => [path, wanted.kind === 'file' ? wanted.text : wanted.kind]),
  );
  return { texts, effects, running };
}

const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

describe('the network step', () => {
  it('replaces its own block in /etc/hosts and leaves the rest', () => {
    const once = withBlock('127.0.0.1 localhost', ['10.0.0.1 a']);
    expect(once).toBe('127.0.0.1 localhost\n# Imago: begin\n10.0.0.1 a\n# Imago: end\n');
    expect(withBlock(`${once}10.0.0.9 own\n`, ['10.0.0.2 b'])).toBe(
      '127.0.0.1 localhost\n# Imago: begin\n10.0.0.2 b\n# Imago: end\n10.0.0.9 own\n',
    );
  });

  it('never sends the API server and the metadata service through a proxy', async () => {
    const kubernetes = { apiServer: 'https://[fd00::1]:6443', ca };
    const network = { proxy: { https: 'http://proxy:3128', noProxy: ['.example.com'] } };
    expect(noProxy({ schemaVersion: 1, kubernetes, network })).toEqual(
      expect.arrayContaining(['.example.com', '169.254.169.254', 'fd00::1']),
    );
    const { texts, effects } = await rendered({ network });
    expect(texts.get('/etc/imago/proxy.env')).toContain('HTTPS_PROXY="http://proxy:3128"\n');
    expect(effects).toEqual(
      expect.arrayContaining(['restart:containerd.service', 'restart:kubelet.service']),
    );
  });

  it('leaves a pod network with the pod range of the node to the container runtime', async () => {
    const cni = { config: { plugins: [{ ipam: { ranges: [[{ subnet: '{{.PodCIDR}}' }]] } }] } };
    const { texts } = await rendered({ network: { cni }, runtime: {} });
    expect(texts.get('/etc/containerd/cni.template')).toContain('{{.PodCIDR}}');
    expect(texts.has('/etc/cni/net.d/10-imago.conflist')).toBe(false);
    expect(texts.get('/etc/containerd/config.toml')).toContain(
      'conf_template = "/etc/containerd/cni.template"',
    );
    const fixed = await rendered({ network: { cni: { config: { plugins: [] } } }, runtime: {} });
    expect(fixed.texts.has('/etc/cni/net.d/10-imago.conflist')).toBe(true);
    expect(fixed.texts.get('/etc/containerd/config.toml')).not.toContain('conf_template');
  });

  it('writes variables that systemd reads back as they were', () => {
    expect(environmentText({ B: 'a "b" $c', A: '1' })).toBe('A="1"\nB="a \\"b\\" \\$c"\n');
  });
});

describe('the system steps', () => {
  it.each([
    ['vm.max_map_count', '/proc/sys/vm/max_map_count'],
    ['net/ipv4/conf/eth0.1/forwarding', '/proc/sys/net/ipv4/conf/eth0.1/forwarding'],
    ['net.ipv4.conf.eth0/1.forwarding', '/proc/sys/net/ipv4/conf/eth0.1/forwarding'],
  ])('find the kernel’s file for %s', (name, path) => {
    expect(sysctlPath(name)).toBe(path);
  });

  it('refuse a time zone that the image does not have', async () => {
    await expect(rendered({ time: { zone: 'Europe/Nowhere' } })).rejects.toMatchObject({
      code: 'node-config-invalid',
    });
    expect((await rendered({ time: { zone: 'Europe/Berlin' } })).texts.get('/etc/localtime')).toBe('link');
  });

  it('set what the kernel reads now and at each boot', async () => {
    const { texts, running } = await rendered({
      system: {
        modules: [{ name: 'br_netfilter', options: 'a=1' }],
        transparentHugepages: 'never',
        limits: { nofile: 5 },
      },
    });
    expect(running.modules).toEqual(['br_netfilter']);
    expect(running.kernelValues).toEqual([['/sys/kernel/mm/transparent_hugepage/enabled', 'never']]);
    expect([...texts.keys()]).toEqual(
      expect.arrayContaining([
        '/etc/modules-load.d/imago-node.conf',
        '/etc/modprobe.d/imago-node.conf',
        '/etc/tmpfiles.d/imago-node.conf',
        '/etc/systemd/system.conf.d/imago-node.conf',
      ]),
    );
  });
});

describe('the runtime step', () => {
  it('speaks the version of the configuration that the image has', async () => {
    const { texts } = await rendered({
      runtime: { sandboxImage: 'example.com/pause:1', maxLogLineBytes: 2048 },
    });
    const text = texts.get('/etc/containerd/config.toml') ?? '';
    expect(text).toContain(
      '[plugins."io.containerd.cri.v1.images".pinned_images]\n  sandbox = "example.com/pause:1"',
    );
    expect(text).toContain('[plugins."io.containerd.cri.v1.runtime"]\n  max_container_log_line_size = 2048');
    expect(text).not.toContain('grpc.v1.cri');
  });
});

describe('the kubelet step', () => {
  it('keeps the server closed on a node without a cluster, and asks the cluster on others', () => {
    expect(kubeletDocument({ schemaVersion: 1, kubelet: {} })).toMatchObject({ enableServer: false });
    const joined = kubeletDocument({
      schemaVersion: 1,
      kubernetes: { apiServer: 'https://a', ca, clusterDns: ['10.0.0.10'] },
      node: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
      kubelet: { memorySwap: 'NoSwap', more: { newField: 1 } },
    });
    expect(joined).toMatchObject({
      authorization: { mode: 'Webhook' },
      clusterDNS: ['10.0.0.10'],
      registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }],
      memorySwap: { swapBehavior: 'NoSwap' },
      newField: 1,
    });
    expect(joined).not.toHaveProperty('enableServer');
  });

  it('tells pods the name servers themselves where the image has a cache for names, else those of the system', async () => {
    const { texts } = await rendered({ kubelet: {} });
    expect(texts.get('/var/lib/kubelet/config.yaml')).toContain('"resolvConf": "/etc/resolv.conf"');
    expect(kubeletDocument({ schemaVersion: 1, kubelet: {} })).toMatchObject({
      resolvConf: '/run/systemd/resolve/resolv.conf',
    });
  });

  it('runs beside swap when the config wants both', () => {
    const config = { schemaVersion: 1, kubelet: {}, system: { swapMiB: 64 } } as const;
    expect(kubeletDocument(config)).toMatchObject({ failSwapOn: false });
    expect(kubeletDocument({ ...config, kubelet: { failSwapOn: true } })).toMatchObject({ failSwapOn: true });
    expect(kubeletDocument({ schemaVersion: 1, kubelet: {} })).not.toHaveProperty('failSwapOn');
  });
});

describe('the units step', () => {
  it('enables, disables and masks, and rejects a unit that does not exist', async () => {
    const content = '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n';
    const { texts, running } = await rendered({
      kubelet: {},
      units: [
        { name: 'own.service', state: 'enabled', content },
        { name: 'kubelet.service', state: 'masked' },
      ],
    });
    expect(texts.get('/etc/systemd/system/multi-user.target.wants/own.service')).toBe('link');
    expect(texts.get('/etc/systemd/system/kubelet.service')).toBe('link');
    expect(running).toMatchObject({ stop: ['kubelet.service'] });
    expect(running.start).toEqual(['containerd.service', 'own.service']);
    await expect(rendered({ units: [{ name: 'no.service', state: 'enabled' }] })).rejects.toMatchObject({
      code: 'node-config-invalid',
    });
  });
});

it('registers a node that joins a cluster by its own address', async () => {
  const kubernetes = { apiServer: 'https://api.example.com:6443', ca };
  const { texts } = await rendered({ kubernetes }, '198.18.0.10');
  expect(texts.get('/etc/imago/kubelet.env')).toContain('--node-ip=198.18.0.10');
  const alone = await rendered({ kubelet: {} }, '198.18.0.10');
  expect(alone.texts.get('/etc/imago/kubelet.env')).not.toContain('--node-ip');
});
