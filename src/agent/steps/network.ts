// Host name, /etc/hosts, name servers, proxy, and pod network.
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { Effect } from '../desired/change.ts';
import {
  generatedHeader,
  hasUnit,
  kubeletUnit,
  ownHost,
  runtimeUnit,
  type Step,
  sorted,
} from '../desired/step.ts';

const blockStart = '# Imago: begin';
const blockEnd = '# Imago: end';
/** Containerd writes the list from it when the kubelet reports the pod range that the cluster gave the node. */
export const cniTemplate = '/etc/containerd/cni.template';
/** Read by the units of the runtime and the kubelet, through a drop-in in the image. */
const proxyPath = '/etc/imago/proxy.env';
const resolved = 'systemd-resolved.service';

export const networkStep: Step = {
  name: 'network',
  async run(context) {
    const { config, name, desired, system, services } = context;
    const { network } = config;
    const shared = (...effects: Effect[]) => desired.scope({ step: 'network', effects });
    await shared('hostname').writeText('/etc/hostname', `${name}\n`);
    const hosts = system.readText('/etc/hosts') ?? '127.0.0.1 localhost\n::1 localhost\n';
    await shared().writeText('/etc/hosts', withBlock(hosts, hostsLines(name, network?.hosts ?? {})));
    const { servers = [], search = [] } = network?.dns ?? {};
    if (servers.length > 0 || search.length > 0) {
      const lines = [
        servers.length > 0 && `DNS=${servers.join(' ')}`,
        search.length > 0 && `Domains=${search.join(' ')}`,
      ];
      const text = `${generatedHeader}[Resolve]\n${lines.filter((line) => line !== false).join('\n')}\n`;
      const host = ownHost(context, 'network', `restart:${resolved}`);
      await host.writeText('/etc/systemd/resolved.conf.d/imago-node.conf', text);
    }
    if (network?.cni !== undefined) {
      const { name: file = '10-imago', config: list } = network.cni;
      const text = `${JSON.stringify(list, null, 2)}\n`;
      const path = isPodRangeTemplate(context.config) ? cniTemplate : `/etc/cni/net.d/${file}.conflist`;
      await ownHost(context, 'network').writeText(path, text);
    }
    services.metadataClosed = network?.metadataForPods !== 'open';
    const text = environmentText(proxyVariables(config));
    const units = [runtimeUnit, kubeletUnit].filter((one) => hasUnit(system, one));
    const restarts = units.map((unit): Effect => `restart:${unit}`);
    if (text !== '')
      await ownHost(context, 'network', ...restarts).writeText(proxyPath, generatedHeader + text);
  },
};

/** Returns whether the pod network has a place for the node's own pod range. */
export function isPodRangeTemplate({ network }: NodeConfig): boolean {
  return JSON.stringify(network?.cni?.config ?? null).includes('{{.PodCIDR}}');
}

function hostsLines(name: string, hosts: Readonly<Record<string, readonly string[]>>): readonly string[] {
  return [`127.0.1.1 ${name}`, ...sorted(hosts).map(([address, names]) => `${address} ${names.join(' ')}`)];
}

/** Returns the text with our block in place of an earlier one. */
export function withBlock(text: string, lines: readonly string[]): string {
  const block = `${[blockStart, ...lines, blockEnd].join('\n')}\n`;
  const start = text.indexOf(`${blockStart}\n`);
  const end = text.indexOf(`${blockEnd}\n`, start);
  if (start >= 0 && end >= 0) return text.slice(0, start) + block + text.slice(end + blockEnd.length + 1);
  return (text === '' || text.endsWith('\n') ? text : `${text}\n`) + block;
}

/** Returns the addresses that are always reached without a proxy. */
export function noProxy({ kubernetes, network }: NodeConfig): readonly string[] {
  const server = /^https:\/\/(\[[^\]]+\]|[^/:]+)/.exec(kubernetes?.apiServer ?? '')?.[1];
  return [
    ...new Set([
      ...(network?.proxy?.noProxy ?? []),
      ...['127.0.0.1', '::1', 'localhost', '169.254.169.254', '168.63.129.16'],
      ...(server === undefined ? [] : [server.replace(/^\[|\]$/g, '')]),
    ]),
  ];
}

export function proxyVariables(config: NodeConfig): Readonly<Record<string, string>> {
  const { http, https } = config.network?.proxy ?? {};
  if (http === undefined && https === undefined) return {};
  return {
    ...(http === undefined ? {} : { HTTP_PROXY: http, http_proxy: http }),
    ...(https === undefined ? {} : { HTTPS_PROXY: https, https_proxy: https }),
    NO_PROXY: noProxy(config).join(','),
    no_proxy: noProxy(config).join(','),
  };
}

/** Returns the text of an environment file of systemd. */
export function environmentText(variables: Readonly<Record<string, string>>): string {
  return sorted(variables)
    .map(([name, value]) => `${name}="${value.replace(/["\\$`]/g, '\\$&')}"\n`)
    .join('');
}
