// The kubelet: its configuration file, its flags, and its bootstrap credentials.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KubeletConfig, NodeConfig } from '../../domain/node-config/schema.ts';
import { isWithheld, readGood } from '../desired/state.ts';
import {
  generatedHeader,
  hasUnit,
  kubeletUnit,
  ownHost,
  type Step,
  type StepContext,
  sorted,
  wantsKubelet,
} from '../desired/step.ts';
import type { System } from '../system/system.ts';
import { environmentText } from './network.ts';

const folder = '/var/lib/kubelet';
const kubeconfigPath = `${folder}/kubeconfig`;
/** Needed until the node is registered; the loop removes it then. */
export const bootstrapPath = `${folder}/bootstrap-kubeconfig`;
/** The certificate that the API server gave the kubelet. */
const certificatePath = `${folder}/pki/kubelet-client-current.pem`;
const caPath = `${folder}/ca.crt`;
/** Read by the kubelet's unit, through a drop-in in the image: no unit changes on the node. */
const flagsPath = '/etc/imago/kubelet.env';
/** The name servers themselves: the system's own file names a cache that pods do not reach. */
const resolvedNames = '/run/systemd/resolve/resolv.conf';
const systemNames = '/etc/resolv.conf';
const providerConfigPath = `${folder}/credential-provider.json`;

export const kubeletStep: Step = {
  name: 'kubelet',
  async run(context) {
    const { config, services, desired } = context;
    if (!wantsKubelet(context)) return;
    const host = ownHost(context, 'kubelet', `restart:${kubeletUnit}`);
    if (!hasUnit(context.system, kubeletUnit)) {
      throw new ImagoError(
        'node-config-requires',
        'The config requires a kubelet, and this image has none.',
        {
          hint: 'Use an image with a kubelet, or omit `kubernetes` and `kubelet`.',
        },
      );
    }
    const { kubernetes, kubelet } = config;
    const names = hasUnit(context.system, 'systemd-resolved.service') ? resolvedNames : systemNames;
    const file = `${JSON.stringify(kubeletDocument(config, names), null, 2)}\n`;
    await host.writeText(`${folder}/config.yaml`, file, { mode: 0o600 });
    if (kubernetes !== undefined) await host.writeText(caPath, withNewline(kubernetes.ca));
    if (kubelet?.credentialProvider !== undefined) {
      const text = `${JSON.stringify(kubelet.credentialProvider.config, null, 2)}\n`;
      await host.writeText(providerConfigPath, text, { mode: 0o600 });
    }
    const shared = desired.scope({ step: 'kubelet', effects: [`restart:${kubeletUnit}`] });
    const bootstrap = await bootstrapText(context);
    if (bootstrap !== undefined) await shared.writeText(bootstrapPath, bootstrap, { mode: 0o600 });
    const moved = movedKubeconfig(context);
    if (moved !== undefined) await shared.writeText(kubeconfigPath, moved, { mode: 0o600 });
    const address = kubernetes === undefined ? undefined : await addressOf(context);
    const flags = environmentText({ IMAGO_KUBELET_FLAGS: kubeletFlags(context, address).join(' ') });
    await host.writeText(flagsPath, generatedHeader + flags);
    services.start.add(kubeletUnit);
  },
};

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** A plan, which asks no one, expects the address that the kubelet has already. */
async function addressOf({ system, outside }: StepContext): Promise<string | undefined> {
  const known = /--node-ip=([0-9.]+)/.exec(system.readText(flagsPath) ?? '')?.[1];
  return (await outside.nodeAddress()) ?? known;
}

function kubeletFlags({ config, name }: StepContext, address: string | undefined): readonly string[] {
  const { node, kubernetes, kubelet } = config;
  const labels = { ...(node?.pool === undefined ? {} : { 'imago.dev/pool': node.pool }), ...node?.labels };
  const written = sorted(labels).map(([key, value]) => `${key}=${value}`);
  return [
    `--config=${folder}/config.yaml`,
    `--hostname-override=${name}`,
    // Without it, the kubelet takes the address of the default route, which machines of a local pool share.
    ...(address === undefined ? [] : [`--node-ip=${address}`]),
    ...(kubernetes === undefined
      ? []
      : [`--kubeconfig=${kubeconfigPath}`, `--bootstrap-kubeconfig=${bootstrapPath}`]),
    ...(written.length === 0 ? [] : [`--node-labels=${written.join(',')}`]),
    ...(kubelet?.credentialProvider === undefined
      ? []
      : [
          `--image-credential-provider-config=${providerConfigPath}`,
          `--image-credential-provider-bin-dir=${kubelet.credentialProvider.binaries}`,
        ]),
  ];
}

/**
 * Returns the kubelet's own kubeconfig if the config names another API server than before: the kubelet retains the address
 * that it registered at. `undefined` if there is nothing to change in it, or an address that no config has set.
 */
function movedKubeconfig({ config, system }: StepContext): string | undefined {
  const [from, to] = [readGood(system)?.config.kubernetes?.apiServer, config.kubernetes?.apiServer];
  if (from === undefined || to === undefined || from === to) return undefined;
  const text = system.readText(kubeconfigPath);
  const moved = text?.replaceAll(/^(\s*(?:- )?server: )(.*)$/gm, (line, key: string, server: string) =>
    server === from ? key + to : line,
  );
  return moved === text ? undefined : moved;
}

/** Returns the KubeletConfiguration. Without a cluster no one can authorize requests, so its server stays closed. */
export function kubeletDocument(
  config: NodeConfig,
  resolvConf: string = resolvedNames,
): Readonly<Record<string, unknown>> {
  const { kubernetes, node, runtime } = config;
  const { more, memorySwap, logVerbosity, credentialProvider, ...plain }: KubeletConfig =
    config.kubelet ?? {};
  const joined = kubernetes !== undefined;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: joined },
      ...(joined ? { x509: { clientCAFile: caPath } } : {}),
    },
    authorization: { mode: joined ? 'Webhook' : 'AlwaysAllow' },
    ...(joined ? {} : { enableServer: false }),
    cgroupDriver: runtime?.cgroupDriver ?? 'systemd',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    staticPodPath: '/etc/kubernetes/manifests',
    rotateCertificates: joined,
    readOnlyPort: 0,
    resolvConf,
    ...(joined && {
      clusterDNS: kubernetes.clusterDns ?? [],
      clusterDomain: kubernetes.clusterDomain ?? 'cluster.local',
    }),
    ...(node?.providerId === undefined ? {} : { providerID: node.providerId }),
    ...(node?.taints === undefined || node.taints.length === 0 ? {} : { registerWithTaints: node.taints }),
    ...((config.system?.swapMiB ?? 0) > 0 ? { failSwapOn: false } : {}),
    ...(memorySwap === undefined ? {} : { memorySwap: { swapBehavior: memorySwap } }),
    ...(logVerbosity === undefined ? {} : { logging: { verbosity: logVerbosity } }),
    ...plain,
    ...(typeof more === 'object' && more !== null ? more : {}),
  };
}

/** A kubelet writes its credentials before it has the certificate that they name, and may never get it. */
export function isRegistered(system: System): boolean {
  const text = system.readText(kubeconfigPath);
  if (text === undefined) return false;
  return !text.includes(certificatePath) || system.facts(certificatePath) !== undefined;
}

/** Returns `undefined` if the node already has credentials, or the config has none or no longer contains them. */
async function bootstrapText({ config, system, outside }: StepContext): Promise<string | undefined> {
  const { kubernetes } = config;
  if (kubernetes?.bootstrap === undefined || isRegistered(system)) return undefined;
  const { token, identity } = kubernetes.bootstrap;
  if (identity !== undefined) return outside.bootstrapKubeconfig(identity);
  if (token === undefined || isWithheld(token)) return undefined;
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'cluster', cluster: { server: kubernetes.apiServer, 'certificate-authority': caPath } },
    ],
    users: [{ name: 'bootstrap', user: { token } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'cluster', user: 'bootstrap' } }],
    'current-context': 'bootstrap',
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
