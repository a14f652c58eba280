// Version 1 of the node config: the document that tells a node what to be. Every field, in one tree.
import {
  componentsField,
  filesField,
  hotfixesField,
  policyField,
  trustField,
  unitsField,
  usersField,
} from './content-fields.ts';
import type { Field, Held } from './field.ts';
import { kubeletField } from './kubelet-fields.ts';
import { kubernetesField, nodeField } from './kubernetes-fields.ts';
import { networkField, runtimeField, systemField, timeField } from './system-fields.ts';

/** The version that this Imago and its agent read and write. */
export const currentSchemaVersion = 1;
/** Major and minor: fields are added by minors, and an older agent passes over those that it does not know. */
export const schemaRelease = '1.0';

export const nodeConfigSchema = {
  type: 'object',
  about: 'What a node is told to be.',
  cost: 'live',
  fields: {
    schemaVersion: {
      type: 'whole',
      required: true,
      about: 'The version of this document. An agent refuses one that it does not know.',
      min: currentSchemaVersion,
      max: currentSchemaVersion,
      example: 1,
    },
    requires: {
      type: 'list',
      about:
        'What the image must be able to do, or the node refuses the whole document: names of abilities, `component:NAME` or `component:NAME=VERSION`.',
      items: {
        type: 'text',
        about: 'An ability.',
        form: {
          pattern:
            '^(?:[a-z][a-z0-9-]{0,62}|component:[a-z0-9][a-z0-9+.-]{0,62}(?:=[A-Za-z0-9][A-Za-z0-9.+:~_-]{0,99})?)$',
          says: 'an ability, like `cni`, `component:kubelet` or `component:kubelet=1.34.2`',
        },
      },
      maxItems: 100,
      default: [],
    },
    node: nodeField,
    kubernetes: kubernetesField,
    kubelet: kubeletField,
    runtime: runtimeField,
    network: networkField,
    system: systemField,
    time: timeField,
    users: usersField,
    trust: trustField,
    files: filesField,
    units: unitsField,
    components: componentsField,
    hotfixes: hotfixesField,
    policy: policyField,
  },
} as const satisfies Field;

export type NodeConfig = Held<typeof nodeConfigSchema>;
export type HotfixConfig = NonNullable<NodeConfig['hotfixes']>[number];
export type KubeletConfig = NonNullable<NodeConfig['kubelet']>;
