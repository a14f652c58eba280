// Kubernetes' version skew policy: a kubelet is not newer than the API server, and at most three minor versions older.
import { ImagoError } from '../error/imago-error.ts';

const mostOlder = 3;

/** Throws `rollout-refused`. Versions that cannot be read are not judged. */
export function refuseSkew(image: string, kubelet: string | undefined, server: string): void {
  const [own, other] = [minorOf(kubelet ?? ''), minorOf(server)];
  if (own === undefined || other === undefined || (own <= other && own >= other - mostOlder)) return;
  const relation = own > other ? 'newer than' : `more than ${mostOlder} minor versions older than`;
  throw new ImagoError(
    'rollout-refused',
    `The kubelet of ${image} is ${kubelet}, which is ${relation} the API server ${server}.`,
    { hint: 'Upgrade the control plane first, or choose a version with another kubelet.' },
  );
}

function minorOf(version: string): number | undefined {
  const match = /^v?1\.(\d+)(?:\.|$)/.exec(version);
  return match === null ? undefined : Number(match[1]);
}
