// Completes a node config with what its nodes need to join the cluster of their pool.
import type { NodeConfig } from './schema.ts';

/** The server of bootstrap kubeconfigs: `bootstrap.identity` of a node config. */
export interface JoinSource {
  readonly url: string;
  readonly resource: string;
  readonly ca: string;
}

export interface JoinFacts {
  readonly apiServer: string;
  readonly ca: string;
  readonly source: JoinSource;
}

/** A bridge in the pod range that the cluster gives each node. */
const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      ...{ type: 'bridge', bridge: 'pods0', isGateway: true, ipMasq: true },
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: '{{.PodCIDR}}' }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

/** A config that names a cluster itself stays as it is. */
export function withJoin(config: NodeConfig, { apiServer, ca, source }: JoinFacts): NodeConfig {
  if (config.kubernetes !== undefined) return config;
  return {
    ...config,
    kubernetes: { apiServer, ca, bootstrap: { identity: source } },
    network: { ...config.network, cni: config.network?.cni ?? { config: podNetwork } },
  };
}
