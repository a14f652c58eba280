// The kubelet's settings by the names of its own configuration file (KubeletConfiguration, v1beta1), so that what
// people know holds. There is one place for each: no second map of flags to keep equal.
import type { Field, TextForm } from './field.ts';
import * as forms from './forms.ts';

function whole(about: string, min: number, max: number) {
  return { type: 'whole', about, min, max } as const;
}

function flag(about: string) {
  return { type: 'boolean', about } as const;
}

function text(about: string, form: TextForm) {
  return { type: 'text', about, form, maxLength: 512 } as const;
}

function quantities(about: string, values: TextForm = forms.quantity) {
  return {
    type: 'map',
    about,
    keys: { pattern: '^[a-z][a-zA-Z0-9./-]*$', says: 'the name of a resource or signal' },
    values: { type: 'text', about: 'How much.', form: values },
    maxItems: 30,
  } as const;
}

const million = 1_000_000;
const billion = 1_000_000_000;

export const kubeletField = {
  type: 'object',
  about: 'Settings of the kubelet. What is absent is left to its own defaults, save where one is said here.',
  ability: 'kubelet',
  cost: 'restart',
  fields: {
    maxPods: whole('How many pods the node takes.', 1, 1000),
    podsPerCore: whole('How many pods a core takes; 0 for no such limit.', 0, 1000),
    podPidsLimit: whole('How many processes a pod may have; -1 for no limit.', -1, 4_194_304),
    evictionHard: quantities('Below these, pods are evicted at once.', forms.percentOrQuantity),
    evictionSoft: quantities(
      'Below these for their grace period, pods are evicted.',
      forms.percentOrQuantity,
    ),
    evictionSoftGracePeriod: quantities('How long each soft limit may be passed.', forms.goDuration),
    evictionMinimumReclaim: quantities('How much is freed at least.', forms.percentOrQuantity),
    evictionMaxPodGracePeriod: whole(
      'The longest grace, in seconds, for pods evicted by a soft limit.',
      0,
      million,
    ),
    evictionPressureTransitionPeriod: text('How long a pressure condition is kept.', forms.goDuration),
    systemReserved: quantities('Kept back for the system.'),
    kubeReserved: quantities('Kept back for Kubernetes.'),
    systemReservedCgroup: text("The system's cgroup, for enforcement.", forms.absolutePath),
    kubeReservedCgroup: text("Kubernetes' cgroup, for enforcement.", forms.absolutePath),
    enforceNodeAllocatable: {
      type: 'list',
      about: 'Where reservations are enforced.',
      items: {
        type: 'choice',
        about: 'A place.',
        of: [
          'none',
          'pods',
          'system-reserved',
          'kube-reserved',
          'system-reserved-compressible',
          'kube-reserved-compressible',
        ],
      },
      maxItems: 6,
    },
    featureGates: {
      type: 'map',
      about: 'Features of the kubelet by name.',
      keys: { pattern: '^[A-Z][A-Za-z0-9]{0,99}$', says: 'the name of a feature gate' },
      values: flag('On or off.'),
      maxItems: 100,
    },
    cpuManagerPolicy: {
      type: 'choice',
      about: 'How processors are given to containers. The state of running pods does not outlive a change.',
      cost: 'drain',
      of: ['none', 'static'],
    },
    cpuManagerPolicyOptions: {
      type: 'map',
      about: 'Options of the policy.',
      cost: 'drain',
      keys: { pattern: '^[a-z][a-z0-9-]*$', says: 'an option of the policy' },
      values: { type: 'text', about: 'Its value.', maxLength: 100 },
      maxItems: 20,
    },
    cpuManagerReconcilePeriod: text('How often it is reconciled.', forms.goDuration),
    reservedSystemCPUs: { ...text('Processors that pods do not get.', forms.cpuSet), cost: 'drain' },
    memoryManagerPolicy: {
      type: 'choice',
      about: 'How memory of NUMA nodes is given to containers.',
      cost: 'drain',
      of: ['None', 'Static'],
    },
    topologyManagerPolicy: {
      type: 'choice',
      about: 'How processors, memory and devices are aligned.',
      cost: 'drain',
      of: ['none', 'best-effort', 'restricted', 'single-numa-node'],
    },
    topologyManagerScope: {
      type: 'choice',
      about: 'What is aligned together.',
      cost: 'drain',
      of: ['container', 'pod'],
    },
    cpuCFSQuota: flag('Whether processor limits are enforced by quota.'),
    cpuCFSQuotaPeriod: text('The period of that quota.', forms.goDuration),
    imageGCHighThresholdPercent: whole('Disk use, in percent, at which images are collected.', 0, 100),
    imageGCLowThresholdPercent: whole('Disk use, in percent, down to which images are collected.', 0, 100),
    imageMinimumGCAge: text('The least age of an unused image that is collected.', forms.goDuration),
    imageMaximumGCAge: text('The age at which an unused image is collected in any case.', forms.goDuration),
    serializeImagePulls: flag('One image at a time.'),
    maxParallelImagePulls: whole('How many images at once.', 1, 100),
    registryPullQPS: whole('Pulls a second; 0 for no limit.', 0, million),
    registryBurst: whole('Pulls at once above that.', 0, million),
    containerLogMaxSize: text('When a log of a container is rotated.', forms.quantity),
    containerLogMaxFiles: whole('How many of them are kept.', 2, 1000),
    rotateCertificates: { ...flag("Whether the kubelet renews its client's certificate."), default: true },
    serverTLSBootstrap: flag("Whether it asks the cluster for its server's certificate."),
    tlsMinVersion: {
      type: 'choice',
      about: 'The oldest TLS that its server takes.',
      of: ['VersionTLS12', 'VersionTLS13'],
    },
    tlsCipherSuites: {
      type: 'list',
      about: 'The ciphers that its server takes.',
      items: {
        type: 'text',
        about: 'A cipher suite.',
        form: { pattern: '^TLS_[A-Z0-9_]+$', says: 'a cipher suite' },
      },
      maxItems: 50,
    },
    seccompDefault: flag("Whether the runtime's seccomp profile is the default of pods."),
    protectKernelDefaults: flag('Whether it stops when kernel parameters differ from what it wants.'),
    allowedUnsafeSysctls: {
      type: 'list',
      about: 'Kernel parameters that pods may set although they are not safe.',
      items: {
        type: 'text',
        about: 'A parameter or `prefix.*`.',
        form: { pattern: '^[a-z0-9_-]+(?:\\.[a-z0-9_-]+)*(?:\\.\\*)?$', says: 'a kernel parameter' },
      },
      maxItems: 50,
    },
    failSwapOn: flag('Whether it refuses to run with swap.'),
    memorySwap: {
      type: 'choice',
      about: 'How far pods may use swap.',
      of: ['NoSwap', 'LimitedSwap'],
    },
    nodeStatusUpdateFrequency: text('How often it works out its status.', forms.goDuration),
    nodeStatusReportFrequency: text('How often it reports a status that did not change.', forms.goDuration),
    nodeLeaseDurationSeconds: whole('How long its lease lives.', 1, 3600),
    syncFrequency: text('How often it compares pods with their containers.', forms.goDuration),
    streamingConnectionIdleTimeout: text('When an idle exec or port-forward is closed.', forms.goDuration),
    shutdownGracePeriod: text('How long a shutdown waits for pods.', forms.goDuration),
    shutdownGracePeriodCriticalPods: text('The part of it that is kept for critical pods.', forms.goDuration),
    readOnlyPort: { ...whole('A port without authentication; 0 for none.', 0, 65_535), default: 0 },
    kubeAPIQPS: whole('Requests a second to the API server.', 0, million),
    kubeAPIBurst: whole('Requests at once above that.', 0, million),
    eventRecordQPS: whole('Events a second; 0 for no limit.', 0, million),
    maxOpenFiles: whole('How many files it may have open.', 1, billion),
    resolvConf: text('The file that pods with `dnsPolicy: Default` get their DNS from.', forms.absolutePath),
    logVerbosity: whole('How much it logs.', 0, 10),
    credentialProvider: {
      type: 'object',
      about: 'A program that gives credentials for registries, from a component of the image.',
      fields: {
        binaries: { ...text('The folder that holds it.', forms.absolutePath), required: true },
        config: { type: 'any', required: true, about: 'Its CredentialProviderConfig, as JSON.' },
      },
    },
    more: {
      type: 'any',
      about:
        'Fields of KubeletConfiguration that are not named here, as they are: for features newer than this schema. What is named here, or set by Imago, may not stand in it.',
    },
  },
} as const satisfies Field;
