// The container runtime, the network and the operating system of the node.
import type { Field } from './field.ts';
import * as forms from './forms.ts';

const mebibytes = 1_048_576;

export const runtimeField = {
  type: 'object',
  about: 'The container runtime.',
  ability: 'runtime',
  cost: 'restart',
  fields: {
    mirrors: {
      type: 'map',
      about:
        'Where images are pulled from instead, tried in order, by the host of the registry that they name; `_default` for all others. Read anew at each pull.',
      cost: 'live',
      keys: forms.registryHost,
      values: {
        type: 'list',
        about: 'Addresses of mirrors.',
        items: { type: 'text', about: 'An address.', form: forms.httpUrl, maxLength: 512 },
        minItems: 1,
        maxItems: 10,
      },
      maxItems: 50,
      default: {},
      example: { 'registry.example.com': ['https://mirror.example.com'] },
    },
    cgroupDriver: {
      type: 'choice',
      about:
        'Who manages cgroups, for the runtime and the kubelet alike. Running pods do not survive a change.',
      cost: 'drain',
      of: ['systemd', 'cgroupfs'],
      default: 'systemd',
    },
    sandboxImage: {
      type: 'text',
      about: 'The image of the pause container. Absent: the one that the image brings.',
      form: forms.imageReference,
      maxLength: 512,
    },
    maxConcurrentDownloads: {
      type: 'whole',
      about: 'How many layers of one image are pulled at once.',
      min: 1,
      max: 100,
      default: 3,
    },
    maxLogLineBytes: {
      type: 'whole',
      about: 'Where a line in the log of a container is cut.',
      min: 1024,
      max: mebibytes,
      default: 16_384,
    },
    limits: {
      type: 'object',
      about: "Limits of the runtime's own service, which containers inherit.",
      fields: {
        nofile: { type: 'whole', about: 'How many files may be open.', min: 1024, max: 1_073_741_816 },
        memlockBytes: { type: 'whole', about: 'How much memory may be locked.', min: 65_536, max: 2 ** 50 },
        tasks: { type: 'whole', about: 'How many tasks the service may have.', min: 1024, max: 4_194_304 },
      },
    },
  },
} as const satisfies Field;

export const networkField = {
  type: 'object',
  about: 'The network of the node and its pods.',
  fields: {
    cni: {
      type: 'object',
      about: 'The network of pods. Absent: none is written, for clusters whose network comes as a DaemonSet.',
      ability: 'cni',
      cost: 'drain',
      fields: {
        name: {
          type: 'text',
          about: 'The name of the file in /etc/cni/net.d, without `.conflist`.',
          form: { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$', says: 'a file name' },
          default: '10-imago',
        },
        config: {
          type: 'any',
          required: true,
          about:
            'The CNI configuration list, as JSON. With `{{.PodCIDR}}` in it, the container runtime writes the list when the cluster has given the node its pod range.',
        },
      },
    },
    proxy: {
      type: 'object',
      about: 'How the kubelet, the container runtime and the agent reach what lies outside.',
      ability: 'proxy',
      cost: 'restart',
      fields: {
        http: { type: 'text', about: 'The proxy for http.', form: forms.httpUrl, maxLength: 512 },
        https: { type: 'text', about: 'The proxy for https.', form: forms.httpUrl, maxLength: 512 },
        noProxy: {
          type: 'list',
          about:
            'Hosts, domains and networks that are reached directly. The API server, instance metadata and this machine always are.',
          items: {
            type: 'text',
            about: 'A host, `.domain` or network.',
            form: { pattern: '^[A-Za-z0-9.*:/\\[\\]_-]+$', says: 'a host, a domain or a network' },
            maxLength: 253,
          },
          maxItems: 200,
          default: [],
        },
      },
    },
    dns: {
      type: 'object',
      about: 'Name servers of the machine. Absent: those that the network gives.',
      ability: 'dns',
      cost: 'live',
      fields: {
        servers: {
          type: 'list',
          about: 'Their addresses, tried in order.',
          items: { type: 'text', about: 'An address.', form: forms.ipAddress },
          maxItems: 8,
          default: [],
        },
        search: {
          type: 'list',
          about: 'Domains that short names are looked up in.',
          items: { type: 'text', about: 'A domain.', form: forms.dnsNameForm, maxLength: 253 },
          maxItems: 32,
          default: [],
        },
      },
    },
    hosts: {
      type: 'map',
      about: 'Names in /etc/hosts, by address.',
      ability: 'hosts',
      cost: 'live',
      keys: forms.ipAddress,
      values: {
        type: 'list',
        about: 'The names of that address.',
        items: { type: 'text', about: 'A name.', form: forms.dnsNameForm, maxLength: 253 },
        minItems: 1,
        maxItems: 50,
      },
      maxItems: 500,
      default: {},
      example: { '10.0.0.4': ['api.example.com'] },
    },
    metadataForPods: {
      type: 'choice',
      about:
        'Whether pods may reach the instance metadata at 169.254.169.254, which holds this document. Pods on the network of the host are told apart by nothing and always reach it.',
      ability: 'metadata-guard',
      cost: 'live',
      of: ['closed', 'open'],
      default: 'closed',
    },
  },
} as const satisfies Field;

export const systemField = {
  type: 'object',
  about: 'The operating system.',
  fields: {
    sysctl: {
      type: 'map',
      about: 'Kernel parameters by name. One that is taken away keeps its value until the next boot.',
      ability: 'sysctl',
      cost: 'live',
      keys: {
        pattern: '^[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)+$',
        says: 'a kernel parameter, like `vm.max_map_count`',
      },
      values: { type: 'scalar', about: 'Its value.' },
      maxItems: 200,
      default: {},
      example: { 'vm.max_map_count': 262_144 },
    },
    modules: {
      type: 'list',
      about: 'Kernel modules that are loaded now and at each boot.',
      ability: 'modules',
      cost: 'live',
      key: ['name'],
      maxItems: 100,
      default: [],
      items: {
        type: 'object',
        about: 'One module.',
        fields: {
          name: {
            type: 'text',
            required: true,
            about: 'Its name.',
            form: { pattern: '^[A-Za-z0-9_-]{1,64}$', says: 'the name of a kernel module' },
          },
          options: {
            type: 'text',
            about: 'Its options. A loaded module takes new ones at the next boot only.',
            cost: 'drain',
            maxLength: 512,
          },
        },
      },
    },
    limits: {
      type: 'map',
      about: 'Resource limits of services and logins by their name in lower case.',
      ability: 'limits',
      cost: 'restart',
      keys: {
        pattern:
          '^(?:as|core|cpu|data|fsize|locks|memlock|msgqueue|nice|nofile|nproc|rss|rtprio|rttime|sigpending|stack)$',
        says: 'a resource limit, like `nofile`',
      },
      values: {
        type: 'scalar',
        about: 'A whole number, or `infinity`.',
        form: { pattern: '^(?:infinity|[0-9]+)$', says: 'a whole number or `infinity`' },
      },
      maxItems: 16,
      default: {},
    },
    kernelArguments: {
      type: 'list',
      about:
        'Arguments that the kernel must have been started with. They are sealed into an image (`settings.kernelArguments` of the recipe): a node whose image has others refuses the config and says which are missing.',
      ability: 'kernel-arguments',
      cost: 'reimage',
      items: {
        type: 'text',
        about: 'One argument.',
        form: { pattern: '^[^\\s"\']+$', says: 'one argument of the kernel without blanks and quotes' },
        maxLength: 256,
      },
      maxItems: 50,
      default: [],
      example: ['transparent_hugepage=madvise'],
    },
    swapMiB: {
      type: 'whole',
      about: 'The size of a swap file; 0 for none. With one, the kubelet runs although there is swap.',
      ability: 'swap',
      cost: 'drain',
      min: 0,
      max: 1_048_576,
      default: 0,
    },
    transparentHugepages: {
      type: 'choice',
      about: 'When the kernel gives huge pages by itself. Absent: as the kernel was built.',
      ability: 'hugepages',
      cost: 'live',
      of: ['always', 'madvise', 'never'],
    },
    transparentHugepagesDefrag: {
      type: 'choice',
      about: 'How hard it tries to find them.',
      ability: 'hugepages',
      cost: 'live',
      of: ['always', 'defer', 'defer+madvise', 'madvise', 'never'],
    },
  },
} as const satisfies Field;

export const timeField = {
  type: 'object',
  about: 'The clock.',
  ability: 'time',
  cost: 'live',
  fields: {
    zone: {
      type: 'text',
      about: 'The time zone.',
      form: {
        pattern: '^[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2}$',
        says: 'a time zone, like Europe/Berlin',
      },
      default: 'UTC',
    },
    servers: {
      type: 'list',
      about: 'Time servers. Absent: those of the image.',
      items: { type: 'text', about: 'A server.', form: forms.serverName, maxLength: 253 },
      maxItems: 10,
      default: [],
    },
  },
} as const satisfies Field;
