// Lets machines of this host join a cluster: with a bootstrap token for each node, as `kubeadm token create` makes it.
import { createHash, randomInt } from 'node:crypto';
import { hostOfMachines } from '../../domain/cluster/control-plane.ts';
import { joinRights } from '../../domain/cluster/record.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KubeCall } from '../../ports/kube/api.ts';
import type { Joining } from '../../ports/kube/clusters.ts';
import type { KubeClient } from '../client/client.ts';

const tokenMs = 15 * 60_000;
const namespace = 'kube-system';
const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** The group that `cluster up` gives the rights to, and the one of clusters that kubeadm made. */
const groups = 'system:bootstrappers:imago,system:bootstrappers:kubeadm:default-node-token';

/** Returns `undefined` if the kubeconfig does not say which authorities to trust. */
export function joiningOf(client: KubeClient, clock: Clock): Joining | undefined {
  const { ca } = client;
  if (ca === undefined) return undefined;
  const issued = new Set<string>();

  async function remove(node: string, call: KubeCall): Promise<void> {
    await client.delete('secrets', { namespace, name: secretName(node) }, call);
    issued.delete(node);
  }

  return {
    ca,
    server: addressForMachines(client.server),
    async isAllowed(call) {
      const allowed = await Promise.all(joinRights.map((right) => client.allows(right, call)));
      return allowed.every((one) => one);
    },
    async makeToken(node, call = {}) {
      await remove(node, call);
      const secret = Array.from({ length: 16 }, () => alphabet[randomInt(alphabet.length)]).join('');
      const stringData = {
        ...{ 'token-id': tokenId(node), 'token-secret': secret, 'auth-extra-groups': groups },
        ...{ 'usage-bootstrap-authentication': 'true', description: `Imago: node ${node}` },
        expiration: new Date(clock.now() + tokenMs).toISOString().replace(/\.\d+Z$/, 'Z'),
      };
      const metadata = { name: secretName(node), namespace };
      await client.create('secrets', { metadata, type: 'bootstrap.kubernetes.io/token', stringData }, call);
      issued.add(node);
      return `${tokenId(node)}.${secret}`;
    },
    async dropToken(node, call = {}) {
      if (issued.has(node)) await remove(node, call);
    },
  };
}

/** The public part of a token: one for each node, so that a node never has two. */
function tokenId(node: string): string {
  return createHash('sha256').update(node).digest('hex').slice(0, 6);
}

function secretName(node: string): string {
  return `bootstrap-token-${tokenId(node)}`;
}

/** A machine calls the loopback of its host by another address. */
function addressForMachines(server: string): string {
  const url = new URL(server);
  if (!/^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(url.hostname)) return server;
  url.hostname = hostOfMachines;
  return url.href.replace(/\/$/, '');
}
