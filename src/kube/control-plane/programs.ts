// Finds the programs of a control plane on this host, as scripts/get-kubernetes.ts and IMAGO_KUBERNETES provide them.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { cacheFolders, type Environment } from '../../host/tools/tools.ts';

const kubernetesPrograms = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export const services = ['etcd', ...kubernetesPrograms] as const;
export type Service = (typeof services)[number];

export interface Programs {
  readonly version: string;
  readonly paths: Readonly<Record<Service, string>>;
}

const machines: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Throws `control-plane-programs`. Defaults to the newest version that is complete. */
export function findPrograms(version: string | undefined, env: Environment): Programs {
  const folders = [env.IMAGO_KUBERNETES ?? '', ...cacheFolders(env).map((cache) => join(cache, 'kubernetes'))]
    .filter((folder) => folder !== '')
    .flatMap(versionFolders);
  const find = (program: Service, wanted?: string) =>
    folders
      .filter((one) => wanted === undefined || one.version === wanted)
      .toSorted((a, b) => compare(b.version, a.version))
      .map((one) => ({ ...one, path: join(one.folder, program) }))
      .find(({ path }) => existsSync(path));
  const chosen = version ?? find('kube-apiserver')?.version;
  const found = {
    etcd: find('etcd')?.path,
    ...Object.fromEntries(kubernetesPrograms.map((program) => [program, find(program, chosen)?.path])),
  } as Partial<Record<Service, string>>;
  const missing = services.filter((program) => found[program] === undefined);
  if (chosen !== undefined && missing.length === 0)
    return { version: chosen, paths: found as Record<Service, string> };
  const what = chosen === undefined ? 'Kubernetes' : `Kubernetes ${chosen}`;
  throw new ImagoError(
    'control-plane-programs',
    `${what} is not complete on this host: ${missing.join(', ')} not found.`,
    { details: { missing } },
  );
}

interface VersionFolder {
  readonly version: string;
  readonly folder: string;
}

function versionFolders(folder: string): readonly VersionFolder[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
    .flatMap((version) => {
      const own = join(folder, version);
      return [join(own, machines[process.arch] ?? process.arch), own].map((one) => ({
        version,
        folder: one,
      }));
    });
}

function compare(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
