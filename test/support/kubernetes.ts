// The Kubernetes programs that tests put into images, and those of the control plane that nodes join. They are compiled
// once per host, by `node scripts/prepare-tests.ts kubernetes` or by the first test that needs them, which therefore has
// the limit of the preparation.
import { join } from 'node:path';
import {
  getKubernetes,
  type KubernetesBinary,
  type KubernetesProgram,
  kubernetesFolder,
} from '../../scripts/get-kubernetes.ts';
import { preparations } from '../../scripts/preparations.ts';
import { withWorkFolder } from '../../src/host/files/work-folder.ts';
import { patience } from './speed.ts';

export const kubernetesVersions = ['1.35.4', '1.36.3'] as const;

const nodePrograms = ['kubelet', 'kubectl'] as const;
const planePrograms = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubeadm'] as const;
const needed: readonly (readonly [version: string, programs: readonly KubernetesProgram[]])[] = [
  [kubernetesVersions[0], nodePrograms],
  [kubernetesVersions[1], [...nodePrograms, ...planePrograms]],
  ['3.7.3', ['etcd']],
];

/** The limit of a hook that calls `testedKubernetes`. */
export const kubernetesMs = patience(preparations.kubernetes.limitMs);

export async function testedKubernetes(log?: (line: string) => void): Promise<readonly KubernetesBinary[]> {
  const found: KubernetesBinary[] = [];
  // One work directory: a version reuses the modules and packages that it shares with the previous one.
  await withWorkFolder(kubernetesFolder(), async (work) => {
    for (const [version, programs] of needed)
      found.push(
        ...(await getKubernetes({ version, programs, work: join(work, 'go'), ...(log && { log }) })),
      );
  });
  return found;
}

/** The path of a program of the newest tested version. */
export async function kubernetesProgram(program: KubernetesProgram): Promise<string> {
  const found = (await testedKubernetes()).findLast((one) => one.program === program);
  if (found === undefined) throw new Error(`${program} is not among the tested programs.`);
  return found.path;
}
