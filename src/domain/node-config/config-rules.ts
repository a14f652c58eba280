// Rules of the node config that concern several fields at once. They run on documents whose fields are good.

import { isObject } from './check-field.ts';
import { kubeletField } from './kubelet-fields.ts';
import type { ConfigProblem, FieldPath } from './problem.ts';
import type { NodeConfig } from './schema.ts';

export function configRuleProblems(config: NodeConfig): readonly ConfigProblem[] {
  return [
    ...labelProblems(config),
    ...kubeletProblems(config),
    ...fileProblems(config),
    ...unitProblems(config),
    ...hotfixProblems(config),
    ...cniProblems(config),
  ];
}

const freeLabels = new Set([
  ...['kubernetes.io/arch', 'kubernetes.io/hostname', 'kubernetes.io/os'],
  ...['beta.kubernetes.io/arch', 'beta.kubernetes.io/os', 'beta.kubernetes.io/instance-type'],
  ...['failure-domain.beta.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/zone'],
  ...['topology.kubernetes.io/region', 'topology.kubernetes.io/zone'],
]);

/** A kubelet that is given one of the others does not start, or is refused by the API server. */
function isFreeLabel(key: string): boolean {
  const [prefix = ''] = key.includes('/') ? key.split('/') : [];
  if (!/(?:^|\.)(?:kubernetes|k8s)\.io$/.test(prefix)) return true;
  return freeLabels.has(key) || /(?:^|\.)(?:kubelet|node)\.kubernetes\.io$/.test(prefix);
}

function labelProblems({ node }: NodeConfig): readonly ConfigProblem[] {
  return Object.keys(node?.labels ?? {}).flatMap((key) =>
    isFreeLabel(key)
      ? []
      : [
          {
            path: ['node', 'labels', key],
            message: 'is a label that Kubernetes keeps from nodes',
            hint: 'Use a prefix of your own, or set it from a controller of the cluster.',
          },
        ],
  );
}

/** Set from other fields, or by Imago itself. */
const ownKubeletFields = [
  ...['apiVersion', 'kind', 'authentication', 'authorization', 'cgroupDriver', 'clusterDNS', 'clusterDomain'],
  ...['containerRuntimeEndpoint', 'imageServiceEndpoint', 'providerID', 'registerWithTaints', 'registerNode'],
  ...['staticPodPath', 'memorySwap', 'logging'],
];

function kubeletProblems({ kubelet }: NodeConfig): readonly ConfigProblem[] {
  if (kubelet === undefined) return [];
  const problems: ConfigProblem[] = [];
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low, more } = kubelet;
  if (high !== undefined && low !== undefined && low >= high) {
    problems.push({
      path: ['kubelet', 'imageGCLowThresholdPercent'],
      message: `is ${low}, and must be below imageGCHighThresholdPercent (${high})`,
    });
  }
  if (more === undefined) return problems;
  if (!isObject(more)) return [...problems, { path: ['kubelet', 'more'], message: 'must be an object' }];
  for (const key of Object.keys(more)) {
    const path = ['kubelet', 'more', key];
    if (Object.hasOwn(kubeletField.fields, key)) {
      problems.push({ path, message: `is a field of its own: write kubelet.${key}` });
    } else if (ownKubeletFields.includes(key)) {
      problems.push({ path, message: 'is set by Imago from other fields' });
    }
  }
  return problems;
}

const closedFolders = ['/dev', '/proc', '/sys', '/run/imago', '/usr/lib/imago', '/var/lib/imago'];
const closedFiles = ['/etc/machine-id', '/usr/bin/imago-agent'];

function fileProblems({ files }: NodeConfig): readonly ConfigProblem[] {
  const paths = (files ?? []).map(({ path }) => path);
  return paths.flatMap((path, index) => {
    const at: FieldPath = ['files', index, 'path'];
    if (closedFiles.includes(path) || closedFolders.some((folder) => isBelow(path, folder))) {
      return [{ path: at, message: `is ${path}, which belongs to the system or to Imago` }];
    }
    const inside = paths.find((other) => other !== path && isBelow(path, other));
    return inside === undefined ? [] : [{ path: at, message: `lies below ${inside}, which is a file` }];
  });
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function unitProblems({ units }: NodeConfig): readonly ConfigProblem[] {
  return (units ?? []).flatMap(({ name, state, content, dropIn }, index) => {
    const path: FieldPath = ['units', index];
    if (state === 'masked' && (content !== undefined || dropIn !== undefined)) {
      return [{ path, message: 'is masked, and so cannot have content' }];
    }
    if (/^imago-agent/.test(name) && state !== undefined && state !== 'enabled') {
      return [{ path, message: 'is a unit of the agent, which a config cannot switch off' }];
    }
    return [];
  });
}

function hotfixProblems({ hotfixes }: NodeConfig): readonly ConfigProblem[] {
  return (hotfixes ?? []).flatMap(({ kind = 'binary', to, mode, strip }, index) => {
    const problems: ConfigProblem[] = [];
    const path: FieldPath = ['hotfixes', index];
    if (kind === 'package' && to !== undefined) {
      problems.push({ path: [...path, 'to'], message: 'has no meaning for a package' });
    }
    if (kind !== 'binary' && mode !== undefined) {
      problems.push({ path: [...path, 'mode'], message: 'has a meaning for a binary only' });
    }
    if (kind !== 'tar' && strip !== undefined) {
      problems.push({ path: [...path, 'strip'], message: 'has a meaning for an archive only' });
    }
    return problems;
  });
}

function cniProblems({ network }: NodeConfig): readonly ConfigProblem[] {
  const config: unknown = network?.cni?.config;
  if (config === undefined) return [];
  const path: FieldPath = ['network', 'cni', 'config'];
  if (!isObject(config)) return [{ path, message: 'must be an object' }];
  const missing = ['cniVersion', 'name', 'plugins'].filter((key) => config[key] === undefined);
  if (missing.length > 0) return missing.map((key) => ({ path: [...path, key], message: 'is missing' }));
  return Array.isArray(config.plugins) && config.plugins.length > 0
    ? []
    : [{ path: [...path, 'plugins'], message: 'must be a list of at least one plugin' }];
}
