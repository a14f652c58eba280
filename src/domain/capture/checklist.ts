// The clone-safety checklist: everything on a node's disk that belongs to that node alone, as data. The cleaner removes
// and resets what the items name, and the scan demands afterwards that nothing of it is left.

import { buildFolder } from '../build/guest-job.ts';

export interface FileReset {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  /** Written only if all of these paths exist. Always written if omitted. */
  readonly ifPresent?: readonly string[];
}

export interface ChecklistItem {
  readonly id: string;
  readonly reason: string;
  /**
   * Paths to remove, directories with everything in them. `*` matches any text within a name, and `**` any number of
   * names. The first name is literal. The scan demands that nothing matches.
   */
  readonly remove?: readonly string[];
  /** Exceptions to `remove`, with everything below them. */
  readonly keep?: readonly string[] | undefined;
  /** Remove files only. Services do not start if their directories, with owner and mode, are missing. */
  readonly keepDirectories?: boolean | undefined;
  /** Files that get a fixed content. The scan demands this exact content. */
  readonly reset?: readonly FileReset[];
  /** Files whose password hashes are replaced by a lock. The scan demands that no hash is left. */
  readonly lockPasswords?: readonly string[];
  /** A function that finds more paths to remove, for state that only a database on the disk describes. */
  readonly find?: 'writable-container-layers';
  /** What cannot be done offline and is left to the agent, before the kubelet of a clone starts. */
  readonly atBoot?: string;
}

const kubelet = '/var/lib/kubelet';
const containerd = '/var/lib/containerd';
const agentState = '/var/lib/imago';
const hosts = `127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
`;

export const checklist: readonly ChecklistItem[] = [
  {
    id: 'machine-id',
    reason:
      'Clones with one machine ID get one DHCP address and share a journal. The file is empty, as in built images: ' +
      '`uninitialized` also starts the first-boot presets, which would enable units that the node had disabled.',
    remove: ['/var/lib/dbus/machine-id'],
    reset: [{ path: '/etc/machine-id', content: '', mode: 0o444 }],
  },
  {
    id: 'random-seed',
    reason: 'Clones must not share entropy or the key of encrypted service credentials.',
    remove: [
      '/var/lib/systemd/random-seed',
      '/var/lib/systemd/credential.secret',
      '/var/lib/urandom/random-seed',
      '/boot/efi/loader/random-seed',
      '/efi/loader/random-seed',
    ],
  },
  {
    id: 'ssh-host-keys',
    reason: 'A shared host key lets one clone impersonate another.',
    remove: ['/etc/ssh/ssh_host_*', '/etc/dropbear/dropbear_*_host_key'],
  },
  {
    id: 'host-name',
    reason: 'A clone must not register as its donor or take over its DNS name.',
    remove: ['/etc/hostname', '/etc/machine-info', '/etc/mailname'],
    reset: [{ path: '/etc/hosts', content: hosts, mode: 0o644 }],
  },
  {
    id: 'agent-state',
    reason:
      'The identity, config, and progress of the donor. The lists of managed paths and saved originals stay: with ' +
      "them the agent of a clone reverts the donor's config.",
    remove: [
      `${agentState}/identity.json`,
      // What an agent that was stopped had not written completely.
      `${agentState}/*.new`,
      `${agentState}/config.json`,
      `${agentState}/failed.json`,
      `${agentState}/attempts.json`,
      `${agentState}/platform-report.json`,
      `${agentState}/journal`,
      `${agentState}/downloads`,
      '/etc/imago/kubelet.env',
      '/etc/imago/proxy.env',
      '/etc/sudoers.d/imago-*',
    ],
  },
  {
    id: 'build-state',
    reason: 'The inputs, scripts, and output of a build on a machine are not part of the image.',
    remove: [buildFolder],
  },
  {
    id: 'cloud-init',
    reason:
      'Modules that ran once would be skipped, a generated network config binds to the MAC address of the donor, and ' +
      'user data can hold join tokens.',
    remove: [
      '/var/lib/cloud/*',
      '/etc/netplan/50-cloud-init.yaml',
      '/etc/network/interfaces.d/50-cloud-init*',
      '/etc/systemd/network/10-cloud-init-*',
      '/etc/NetworkManager/system-connections/cloud-init-*',
      '/etc/ssh/sshd_config.d/50-cloud-init.conf',
      '/etc/sudoers.d/90-cloud-init-users',
    ],
  },
  {
    id: 'azure-agent',
    reason:
      'Certificates and protected settings of the donor, and a goal state that makes the Azure agent replay or skip ' +
      'extensions.',
    remove: ['/var/lib/waagent/*', '/etc/sudoers.d/waagent', '/var/lib/azure/*'],
  },
  {
    id: 'kubelet-credentials',
    reason: 'With an unexpired kubeconfig a clone authenticates as its donor.',
    remove: [
      `${kubelet}/pki`,
      `${kubelet}/kubeconfig*`,
      `${kubelet}/bootstrap-kubeconfig*`,
      `${kubelet}/config.yaml`,
      `${kubelet}/config.json`,
      `${kubelet}/kubeadm-flags.env`,
      `${kubelet}/credential-provider.json`,
      `${kubelet}/.docker`,
      `${kubelet}/.dockercfg`,
    ],
  },
  {
    id: 'kubelet-state',
    reason:
      'Orphan volumes and stale mounts. A kubelet with the resource state of another machine does not start.',
    remove: [
      `${kubelet}/pods`,
      `${kubelet}/plugins*`,
      `${kubelet}/pod-resources`,
      `${kubelet}/device-plugins`,
      `${kubelet}/checkpoints`,
      `${kubelet}/*_state`,
      `${kubelet}/*_state_v*`,
      `${kubelet}/image_manager`,
    ],
  },
  {
    id: 'pod-network',
    reason: 'Address allocations of the donor give two pods one address.',
    remove: [
      '/var/lib/cni/*',
      '/var/lib/calico/*',
      '/var/lib/cilium/*',
      '/var/lib/weave/*',
      '/var/lib/antrea/*',
      '/var/lib/azure-network/*',
      '/var/lib/azure-vnet*',
    ],
  },
  {
    id: 'containers',
    reason:
      'Clones would start the containers of the donor, whose writable layers hold its data. Images and their content ' +
      'stay: they are the warm cache.',
    remove: [
      `${containerd}/io.containerd.grpc.v1.cri/sandboxes`,
      `${containerd}/io.containerd.grpc.v1.cri/containers`,
      `${containerd}/io.containerd.runtime.v1.linux`,
      `${containerd}/io.containerd.runtime.v2.task`,
      `${containerd}/io.containerd.sandbox.controller.v1.shim`,
      `${containerd}/io.containerd.content.v1.content/ingest/*`,
      `${containerd}/tmpmounts/*`,
      '/var/lib/containers/storage/overlay-containers',
      '/var/lib/crio/*',
      '/var/lib/docker/containers',
      '/var/lib/docker/network',
      '/var/lib/dockershim',
    ],
    find: 'writable-container-layers',
    reset: [
      {
        path: `${agentState}/foreign-containers`,
        content: '',
        mode: 0o600,
        ifPresent: [agentState, `${containerd}/io.containerd.metadata.v1.bolt/meta.db`],
      },
    ],
    atBoot:
      'containerd keeps containers and images in one database, which only containerd can change safely. The agent ' +
      'deletes the containers and snapshots in it before the kubelet starts; `foreign-containers` requests that.',
  },
  {
    id: 'network-leases',
    reason: 'Leases, stable-privacy keys, and interface names bind to the address and MAC of the donor.',
    remove: [
      '/var/lib/dhcp/*',
      '/var/lib/dhcpcd/*',
      '/var/lib/dhclient/*',
      '/var/lib/systemd/network/*',
      '/var/lib/NetworkManager/*',
      '/etc/udev/rules.d/70-persistent-net.rules',
      '/etc/udev/rules.d/75-persistent-net-generator.rules',
    ],
  },
  {
    id: 'cluster-credentials',
    reason: 'Everyone who can read the image would hold credentials of the cluster or the cloud.',
    remove: [
      '/etc/kubernetes/azure.json',
      '/etc/kubernetes/cloud-config*',
      '/etc/kubernetes/*.conf',
      '/etc/kubernetes/pki',
      '/etc/kubernetes/certs',
      '/etc/kubernetes/sp.txt',
      '/opt/azure/containers/provision*.log',
      '/opt/azure/vhd-install.complete',
      '/var/cache/imds',
      '/etc/docker/key.json',
      '/etc/cni/net.d/*kubeconfig*',
    ],
  },
  {
    id: 'user-access',
    reason: 'Keys, tokens, and histories of people would keep working on every clone.',
    remove: [
      '/root/.*',
      '/home/*/.*',
      '/etc/passwd-',
      '/etc/group-',
      '/etc/shadow-',
      '/etc/gshadow-',
      '/etc/subuid-',
      '/etc/subgid-',
    ],
    keep: ['/root/.bashrc', '/root/.profile', '/home/*/.bashrc', '/home/*/.profile', '/home/*/.bash_logout'],
    lockPasswords: ['/etc/shadow', '/etc/gshadow'],
  },
  {
    id: 'logs',
    reason: 'Logs leak what the donor did and grow from one generation to the next.',
    remove: ['/var/log/**'],
    keepDirectories: true,
  },
  {
    id: 'journal-folders',
    reason: 'The systemd journal has a directory for each machine ID.',
    remove: ['/var/log/journal/*', '/var/log/pods/*', '/var/log/containers/*', '/var/log/azure/*'],
  },
  {
    id: 'crash-dumps',
    reason: 'Dumps hold memory, and with it secrets.',
    remove: ['/var/crash/*', '/var/lib/systemd/coredump/*', '/var/lib/kdump/*', '/var/lib/systemd/pstore/*'],
  },
  {
    id: 'temporary-files',
    reason: 'Temporary files cost space and can hold anything.',
    remove: ['/tmp/*', '/var/tmp/*', '/run/*', '/var/lib/systemd/ephemeral-trees/*'],
  },
  {
    id: 'swap',
    reason: 'A swap file holds memory. The agent creates its own again.',
    remove: ['/swapfile', '/swap.img', '/var/swapfile', `${agentState}/swap`, `${agentState}/swap.new`],
  },
  {
    id: 'package-caches',
    reason: 'Package lists and downloads are out of date on a clone and cost space.',
    remove: [
      '/var/lib/apt/lists/**',
      '/var/cache/apt/**',
      '/var/cache/dnf/**',
      '/var/cache/yum/**',
      '/var/lib/apt/periodic/*',
      '/var/lib/update-notifier/*',
      '/var/lib/systemd/timers/*',
    ],
    keepDirectories: true,
  },
  {
    id: 'queued-jobs',
    reason: 'A job that was queued on the donor would run on every clone.',
    remove: [
      '/var/spool/cron/**',
      '/var/spool/at/**',
      '/var/spool/anacron/**',
      '/var/mail/**',
      '/var/spool/mail/**',
    ],
    keepDirectories: true,
  },
  {
    id: 'storage-ids',
    reason: 'Storage servers take two initiators of one name for one host.',
    remove: [
      '/etc/iscsi/initiatorname.iscsi',
      '/etc/nvme/hostid',
      '/etc/nvme/hostnqn',
      '/var/lib/iscsi/*',
      '/etc/multipath/wwids',
      '/etc/multipath/bindings',
      '/etc/lvm/archive/*',
      '/etc/lvm/backup/*',
    ],
  },
  {
    id: 'sealed-keys',
    reason: 'Keys that are sealed to the TPM of the donor do not open anywhere else.',
    remove: ['/var/lib/tpm2-*/*', '/etc/cryptsetup-keys.d/*', '/etc/luks/*'],
  },
  {
    id: 'monitoring-ids',
    reason: 'Monitoring and subscription services merge clones that report one ID.',
    remove: [
      '/var/lib/netdata/registry/netdata.public.unique.id',
      '/var/lib/netdata/cloud.d',
      '/etc/opt/microsoft/omsagent',
      '/var/opt/microsoft/omsagent',
      '/etc/opt/microsoft/azuremonitoragent',
      '/etc/rhsm/*',
      '/etc/pki/consumer',
      '/etc/pki/entitlement',
      '/var/lib/ubuntu-advantage/private',
      '/var/lib/ubuntu-advantage/machine-token.json',
      '/etc/datadog-agent/auth_token',
      '/opt/datadog-agent/run/*',
      '/var/lib/puppet/ssl',
      '/etc/chef/client.pem',
      '/etc/salt/pki/minion',
      '/etc/salt/minion_id',
    ],
  },
  {
    id: 'lost-files',
    reason: 'A repaired file system collects unnamed files, which can be anything.',
    remove: ['/lost+found/*'],
  },
];
