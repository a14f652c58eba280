// Version 0 of the node config, the preview: a flat form with the notations of the kubelet's flags. It says less
// than version 1, and stays readable so that the way between versions is one that is walked and tested.
import type { Field, Held } from './field.ts';
import * as forms from './forms.ts';
import { nodeField } from './kubernetes-fields.ts';
import type { NodeConfig } from './schema.ts';

const labelKey = forms.labelKey.pattern.slice(1, -1);
const labelValue = forms.labelValue.pattern.slice(1, -1);

export const previewSchema = {
  type: 'object',
  about: 'The preview of the node config.',
  fields: {
    schemaVersion: { type: 'whole', required: true, about: 'Always 0.', min: 0, max: 0 },
    name: nodeField.fields.name,
    pool: nodeField.fields.pool,
    labels: {
      type: 'list',
      about: 'Labels, as `key=value`.',
      items: {
        type: 'text',
        about: 'A label.',
        form: { pattern: `^${labelKey}=${labelValue}$`, says: 'a label, like `example.com/team=web`' },
      },
      maxItems: 100,
    },
    taints: {
      type: 'list',
      about: 'Taints, as `key=value:Effect`.',
      items: {
        type: 'text',
        about: 'A taint.',
        form: {
          pattern: `^${labelKey}=${labelValue}:(?:NoSchedule|PreferNoSchedule|NoExecute)$`,
          says: 'a taint, like `example.com/team=web:NoSchedule`',
        },
      },
      maxItems: 50,
    },
    cluster: {
      type: 'object',
      about: 'The cluster that the node joins.',
      fields: {
        server: {
          type: 'text',
          required: true,
          about: 'The API server.',
          form: forms.httpsUrl,
          maxLength: 2048,
        },
        ca: {
          type: 'text',
          required: true,
          about: 'Its authorities, in PEM.',
          form: forms.pem,
          multiline: true,
          maxLength: 20_000,
        },
        token: {
          type: 'text',
          about: 'A bootstrap token.',
          secret: true,
          form: { pattern: '^[a-z0-9]{6}\\.[a-z0-9]{16}$', says: 'a bootstrap token' },
        },
      },
    },
    sysctl: {
      type: 'list',
      about: 'Kernel parameters, as `name=value`.',
      items: {
        type: 'text',
        about: 'A parameter.',
        form: {
          pattern: '^[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)+=.*$',
          says: 'a kernel parameter, like `vm.max_map_count=262144`',
        },
      },
      maxItems: 200,
    },
  },
} as const satisfies Field;

export type PreviewConfig = Held<typeof previewSchema>;

export function fromPreview(preview: PreviewConfig): NodeConfig {
  const { name, pool, labels, taints, cluster, sysctl } = preview;
  const node = {
    ...(name === undefined ? {} : { name }),
    ...(pool === undefined ? {} : { pool }),
    ...(labels === undefined ? {} : { labels: Object.fromEntries(labels.map(splitPair)) }),
    ...(taints === undefined ? {} : { taints: taints.map(readTaint) }),
  };
  return {
    schemaVersion: 1,
    ...(Object.keys(node).length === 0 ? {} : { node }),
    ...(cluster === undefined
      ? {}
      : {
          kubernetes: {
            apiServer: cluster.server,
            ca: cluster.ca,
            ...(cluster.token === undefined ? {} : { bootstrap: { token: cluster.token } }),
          },
        }),
    ...(sysctl === undefined ? {} : { system: { sysctl: Object.fromEntries(sysctl.map(splitPair)) } }),
  };
}

/** All that version 0 can say of a config. What it cannot say is left out: compare what comes back. */
export function toPreview(config: NodeConfig): PreviewConfig {
  const { node, kubernetes, system } = config;
  const token = kubernetes?.bootstrap?.token;
  return {
    schemaVersion: 0,
    ...(node?.name === undefined ? {} : { name: node.name }),
    ...(node?.pool === undefined ? {} : { pool: node.pool }),
    ...(node?.labels === undefined ? {} : { labels: pairs(node.labels) }),
    ...(node?.taints === undefined
      ? {}
      : { taints: node.taints.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`) }),
    ...(kubernetes === undefined
      ? {}
      : {
          cluster: {
            server: kubernetes.apiServer,
            ca: kubernetes.ca,
            ...(token === undefined ? {} : { token }),
          },
        }),
    ...(system?.sysctl === undefined ? {} : { sysctl: pairs(system.sysctl) }),
  };
}

function pairs(map: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(map).map(([key, value]) => `${key}=${value}`);
}

function splitPair(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

type Taint = NonNullable<NonNullable<NodeConfig['node']>['taints']>[number];

function readTaint(text: string): Taint {
  const [pair, effect] = [text.slice(0, text.lastIndexOf(':')), text.slice(text.lastIndexOf(':') + 1)];
  const [key, value] = splitPair(pair);
  return { key, ...(value === '' ? {} : { value }), effect: effect as Taint['effect'] };
}
