// Who the node is in its cluster, and how it gets in.
import type { Field } from './field.ts';
import * as forms from './forms.ts';

export const nodeField = {
  type: 'object',
  about: 'Who the node is.',
  fields: {
    name: {
      type: 'text',
      about:
        'The name of the node, which is also its host name. Absent: the name that the instance metadata gives. A pool leaves it out; rendering for one node fills it in.',
      cost: 'reimage',
      form: forms.nodeNameForm,
      maxLength: 63,
      example: 'web-000001',
    },
    pool: {
      type: 'text',
      about:
        'The pool that the node belongs to; the label `imago.dev/pool` on its Node object. A change takes effect as one of `node.labels` does.',
      cost: 'drain',
      form: forms.nodeNameForm,
      maxLength: 56,
      example: 'web',
    },
    labels: {
      type: 'map',
      about:
        'Labels that the kubelet registers the node with. Those that Kubernetes keeps from nodes are refused. A kubelet sets them when it makes the Node object and never again: a change takes effect when the Node object is deleted after the drain, and the kubelet, which the agent then restarts, makes a new one. Until then use `kubectl label`.',
      cost: 'drain',
      keys: forms.labelKey,
      values: { type: 'text', about: 'The label.', form: forms.labelValue },
      maxItems: 100,
      default: {},
      example: { 'example.com/team': 'web' },
    },
    taints: {
      type: 'list',
      about:
        'Taints that the kubelet registers the node with. A node may not change its own taints later: a change takes effect as one of `node.labels` does, with a new Node object after the drain. Until then use `kubectl taint`.',
      cost: 'drain',
      key: ['key', 'effect'],
      maxItems: 50,
      default: [],
      items: {
        type: 'object',
        about: 'One taint.',
        fields: {
          key: { type: 'text', required: true, about: 'Its key.', form: forms.labelKey },
          value: { type: 'text', about: 'Its value.', form: forms.labelValue, default: '' },
          effect: {
            type: 'choice',
            required: true,
            about: 'What it does to pods that do not tolerate it.',
            of: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
          },
        },
      },
    },
    providerId: {
      type: 'text',
      about:
        'What the cloud calls the machine, for controllers that look it up. Fixed in a Node object: a change takes effect as one of `node.labels` does.',
      cost: 'drain',
      form: {
        pattern: '^[a-z][a-z0-9.-]*://[^\\s]+$',
        says: 'a provider id, like `azure:///subscriptions/…`',
      },
      maxLength: 512,
    },
  },
} as const satisfies Field;

const bootstrapField = {
  type: 'object',
  about:
    'The credentials for the first talk with the API server, from one of two sources. They are used when the node registers and never again, so a change costs nothing. Absent: the node joins only with credentials that it has already.',
  cost: 'live',
  oneOf: ['token', 'identity'],
  fields: {
    token: {
      type: 'text',
      about:
        'A bootstrap token of Kubernetes that is valid for minutes. Every process on the machine can read the instance metadata: keep it short-lived.',
      ability: 'bootstrap-token',
      secret: true,
      form: {
        pattern: '^[a-z0-9]{6}\\.[a-z0-9]{16}$',
        says: 'a bootstrap token: 6 characters, a dot and 16 characters',
        hint: 'Make one with `kubeadm token create --ttl 15m`.',
      },
    },
    identity: {
      type: 'object',
      about:
        "A kubeconfig that is fetched with the machine's managed identity: no secret travels in the config.",
      ability: 'bootstrap-identity',
      fields: {
        url: {
          type: 'text',
          required: true,
          about: 'Where the bootstrap kubeconfig is; asked with the token of the identity as bearer.',
          form: forms.httpsUrl,
          maxLength: 2048,
        },
        resource: {
          type: 'text',
          required: true,
          about: 'The resource (audience) that the token is asked for.',
          form: { pattern: '^[^\\s]+$', says: 'a resource without blanks' },
          maxLength: 512,
        },
        clientId: {
          type: 'text',
          about: 'Which of several identities of the machine. Absent: its only one.',
          form: {
            pattern: '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
            says: 'the client id of an identity',
          },
        },
        ca: {
          type: 'text',
          about:
            'The certificates of the authorities that sign for `url`, in PEM. Absent: those that the node trusts.',
          ability: 'bootstrap-identity-ca',
          form: forms.pem,
          multiline: true,
          maxLength: 20_000,
        },
      },
    },
  },
} as const satisfies Field;

export const kubernetesField = {
  type: 'object',
  about: 'The cluster that the node joins. Absent: the node runs its container runtime and joins nothing.',
  ability: 'kubernetes',
  removal: 'reimage',
  fields: {
    apiServer: {
      type: 'text',
      required: true,
      about:
        'The address of the API server. A node that is registered asks the new address with the credentials that it has: for another cluster it needs a new disk.',
      cost: 'restart',
      form: forms.httpsUrl,
      maxLength: 2048,
      example: 'https://api.example.com:6443',
    },
    ca: {
      type: 'text',
      required: true,
      about: 'The certificates of the authorities that sign for the API server, in PEM.',
      cost: 'restart',
      form: forms.pem,
      multiline: true,
      maxLength: 20_000,
    },
    bootstrap: bootstrapField,
    clusterDns: {
      type: 'list',
      about: 'Addresses of the DNS service inside the cluster, which pods are told.',
      cost: 'restart',
      items: { type: 'text', about: 'An address.', form: forms.ipAddress },
      maxItems: 4,
      default: [],
      example: ['10.0.0.10'],
    },
    clusterDomain: {
      type: 'text',
      about: 'The domain that names inside the cluster end with.',
      cost: 'restart',
      form: forms.dnsNameForm,
      maxLength: 253,
      default: 'cluster.local',
    },
  },
} as const satisfies Field;
