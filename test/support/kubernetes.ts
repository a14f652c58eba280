// The Kubernetes binaries that tests put into images. They are compiled once per host, by `node scripts/prepare-tests.ts
// kubernetes` or by the first test that needs them, which therefore has the limit of the preparation.
import { join } from 'node:path';
import { getKubernetes, type KubernetesBinary, kubernetesFolder } from '../../scripts/get-kubernetes.ts';
import { preparations } from '../../scripts/preparations.ts';
import { withWorkFolder } from '../../src/host/files/work-folder.ts';
import { patience } from './speed.ts';

export const kubernetesVersions = ['1.34.2', '1.34.3'] as const;

/** The limit of a hook that calls `testedKubernetes`. */
export const kubernetesMs = patience(preparations.kubernetes.limitMs);

export async function testedKubernetes(log?: (line: string) => void): Promise<readonly KubernetesBinary[]> {
  const found: KubernetesBinary[] = [];
  // One work directory: the second version reuses the modules and packages that it shares with the first.
  await withWorkFolder(kubernetesFolder(), async (work) => {
    for (const version of kubernetesVersions) {
      const options = { version, programs: ['kubelet', 'kubectl'], work: join(work, 'go') } as const;
      found.push(...(await getKubernetes({ ...options, ...(log && { log }) })));
    }
  });
  return found;
}
