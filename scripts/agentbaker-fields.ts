// What AgentBaker's contract with its nodes (message Configuration of aks-node-controller, v1) has in the node config,
// and what has no counterpart, with the reason. A row for each group of its fields.

export interface Counterpart {
  readonly theirs: string;
  readonly fields: readonly string[];
  /** Paths of the node config. Empty: there is none. */
  readonly ours: readonly string[];
  readonly why: string;
}

const fixed = 'The image holds the one version that it was built with: there is nothing to choose at boot.';
const cloud = 'Belongs to the cloud controller, which runs in the cluster and reads its own configuration.';

export const agentbakerFields: readonly Counterpart[] = [
  {
    theirs: 'root',
    fields: ['version'],
    ours: ['schemaVersion', 'requires'],
    why: 'With a list of what the image must be able to do, instead of dropping what it does not know.',
  },
  {
    theirs: 'root',
    fields: ['kubernetes_version'],
    ours: ['components'],
    why: 'Only where an image has several versions side by side.',
  },
  { theirs: 'root', fields: ['kubernetes_ca_cert'], ours: ['kubernetes.ca'], why: '' },
  {
    theirs: 'root',
    fields: ['kube_proxy_url'],
    ours: [],
    why: 'kube-proxy comes as a DaemonSet; its image is in the store of the image.',
  },
  {
    theirs: 'root',
    fields: ['vm_size'],
    ours: [],
    why: "Instance metadata says it; the pool's model sets it.",
  },
  {
    theirs: 'root',
    fields: ['linux_admin_username', 'enable_ssh', 'disable_pubkey_auth'],
    ours: ['users', 'units'],
    why: 'Users log in by key only; ssh is a unit that can be masked.',
  },
  {
    theirs: 'root',
    fields: ['is_vhd', 'disable_custom_data', 'pre_provision_only'],
    ours: [],
    why: 'A node is always configured by its agent, and captures are cleaned offline: there is no half-prepared state to mark.',
  },
  {
    theirs: 'root',
    fields: ['enable_unattended_upgrade'],
    ours: ['units'],
    why: 'State of the units that do it; changes of content come by a new image or a hotfix.',
  },
  { theirs: 'root', fields: ['message_of_the_day'], ours: ['files[].content'], why: 'A file, /etc/motd.' },
  {
    theirs: 'root',
    fields: ['enable_hosts_config_agent'],
    ours: ['network.hosts'],
    why: 'Names are in the document and change while the node runs.',
  },
  { theirs: 'root', fields: ['custom_ca_certs'], ours: ['trust'], why: '' },
  {
    theirs: 'root',
    fields: ['provision_output', 'cse_timeout'],
    ours: [],
    why: 'There is no script extension; the agent reports steps with their times.',
  },
  {
    theirs: 'root',
    fields: ['workload_runtime', 'is_kata'],
    ours: ['files', 'components'],
    why: 'Another runtime is a component of the image with its own configuration file.',
  },
  {
    theirs: 'root',
    fields: ['ipv6_dual_stack_enabled'],
    ours: ['system.sysctl', 'network.cni.config'],
    why: '',
  },
  {
    theirs: 'root',
    fields: ['outbound_command'],
    ours: [],
    why: 'No command runs from the config. What a node must reach is seen when it reaches for it, with the address in the error.',
  },
  {
    theirs: 'root',
    fields: ['azure_private_registry_server', 'bootstrap_profile_container_registry_server'],
    ours: ['runtime.mirrors', 'kubelet.credentialProvider'],
    why: '',
  },
  { theirs: 'root', fields: ['private_egress_proxy_address'], ours: ['network.proxy'], why: '' },
  {
    theirs: 'root',
    fields: ['enable_artifact_streaming'],
    ours: ['components', 'files'],
    why: 'A snapshotter is a component of the image.',
  },
  {
    theirs: 'root',
    fields: ['needs_cgroupv2'],
    ours: ['system.kernelArguments'],
    why: 'Images have version 2; another needs an argument of the kernel, which is sealed with the image (`settings.kernelArguments` of the recipe).',
  },
  {
    theirs: 'root',
    fields: ['enabled_features'],
    ours: ['requires'],
    why: 'What must be there is required; what may be there is a field.',
  },
  {
    theirs: 'kube_binary_config',
    fields: ['kube_binary_url', 'custom_kube_binary_url', 'private_kube_binary_url'],
    ours: ['hotfixes[].source'],
    why: `${fixed} A replacement is a hotfix with a sha256.`,
  },
  {
    theirs: 'kube_binary_config',
    fields: ['pod_infra_container_image_url'],
    ours: ['runtime.sandboxImage'],
    why: '',
  },
  {
    theirs: 'kube_binary_config',
    fields: ['linux_credential_provider_url'],
    ours: ['kubelet.credentialProvider', 'hotfixes'],
    why: '',
  },
  { theirs: 'api_server_config', fields: ['api_server_name'], ours: ['kubernetes.apiServer'], why: '' },
  {
    theirs: 'api_server_config',
    fields: ['api_server_public_key'],
    ours: ['kubernetes.ca'],
    why: 'The authority is trusted, not one key.',
  },
  {
    theirs: 'bootstrapping_config',
    fields: ['bootstrapping_auth_method', 'tls_bootstrapping_token'],
    ours: ['kubernetes.bootstrap.token', 'kubernetes.bootstrap.identity'],
    why: '',
  },
  {
    theirs: 'bootstrapping_config',
    fields: ['cluster_join_method'],
    ours: [],
    why: 'A node joins in one way: by the bootstrap protocol of Kubernetes.',
  },
  {
    theirs: 'bootstrapping_config',
    fields: ['secure_tls_*'],
    ours: ['kubernetes.bootstrap.identity.url', 'kubernetes.bootstrap.identity.resource'],
    why: 'Without its six timeouts: each call has a deadline and is tried again.',
  },
  {
    theirs: 'auth_config',
    fields: ['tenant_id', 'subscription_id'],
    ours: [],
    why: 'Instance metadata says them.',
  },
  {
    theirs: 'auth_config',
    fields: ['service_principal_id', 'service_principal_secret'],
    ours: [],
    why: 'A secret that lives long does not belong where every process can read it: use the identity of the machine.',
  },
  {
    theirs: 'auth_config',
    fields: ['assigned_identity_id', 'use_managed_identity_extension'],
    ours: ['kubernetes.bootstrap.identity.clientId'],
    why: '',
  },
  {
    theirs: 'cluster_config',
    fields: ['resource_group', 'location', 'vm_type', 'primary_scale_set', 'use_instance_metadata'],
    ours: [],
    why: 'Instance metadata says them.',
  },
  {
    theirs: 'cluster_config',
    fields: ['cluster_network_config.core_dns_service_ip'],
    ours: ['kubernetes.clusterDns'],
    why: '',
  },
  {
    theirs: 'cluster_config',
    fields: ['cluster_network_config.*', 'load_balancer_config', 'cloud_provider_config'],
    ours: [],
    why: cloud,
  },
  {
    theirs: 'kubelet_config',
    fields: ['kubelet_flags', 'enable_kubelet_config_file', 'kubelet_config_file_config'],
    ours: ['kubelet', 'kubelet.more'],
    why: 'One place for each setting: the configuration file. There is no map of flags to keep equal.',
  },
  { theirs: 'kubelet_config', fields: ['kubelet_node_labels'], ours: ['node.labels'], why: '' },
  {
    theirs: 'kubelet_config',
    fields: ['kubelet_disk_type', 'container_data_dir'],
    ours: [],
    why: 'Where data lies is decided by the disk of the image, so that what was tested is what runs.',
  },
  {
    theirs: 'kubelet_config',
    fields: ['kubelet_client_key', 'kubelet_client_cert_content'],
    ours: [],
    why: 'A private key never travels: the node makes its own and lets the cluster sign it.',
  },
  {
    theirs: 'containerd_config, runc_config',
    fields: ['version', 'package_url', 'download_base_url'],
    ours: ['components', 'hotfixes'],
    why: fixed,
  },
  {
    theirs: 'network_config',
    fields: ['network_plugin', 'vnet_cni_plugins_url', 'cni_plugins_url'],
    ours: ['network.cni'],
    why: 'The configuration itself; plugins are components of the image.',
  },
  {
    theirs: 'network_config',
    fields: ['network_policy'],
    ours: [],
    why: 'Comes as a DaemonSet of the network.',
  },
  {
    theirs: 'network_config',
    fields: ['standard_secondary_nic_count'],
    ours: ['files'],
    why: 'Files of systemd-networkd.',
  },
  {
    theirs: 'custom_linux_os_config',
    fields: ['sysctl_config'],
    ours: ['system.sysctl'],
    why: 'Every parameter, not a list of 28.',
  },
  {
    theirs: 'custom_linux_os_config',
    fields: ['ulimit_config'],
    ours: ['system.limits', 'runtime.limits'],
    why: '',
  },
  {
    theirs: 'custom_linux_os_config',
    fields: ['enable_swap_config', 'swap_file_size'],
    ours: ['system.swapMiB', 'kubelet.memorySwap'],
    why: '',
  },
  {
    theirs: 'custom_linux_os_config',
    fields: ['transparent_hugepage_support', 'transparent_defrag'],
    ours: ['system.transparentHugepages', 'system.transparentHugepagesDefrag'],
    why: '',
  },
  {
    theirs: 'gpu_config',
    fields: [
      'enable_nvidia',
      'config_gpu_driver',
      'gpu_device_plugin',
      'enable_managed_gpu',
      'enable_managed_gpu_dra',
    ],
    ours: ['components', 'units', 'system.modules'],
    why: 'Drivers are components of an image of their own; nothing is compiled at boot.',
  },
  {
    theirs: 'gpu_config',
    fields: ['gpu_instance_profile', 'mig_strategy', 'mig_profile_layout'],
    ours: ['files'],
    why: 'The configuration file of the program that partitions them.',
  },
  {
    theirs: 'http_proxy_config',
    fields: ['http_proxy', 'https_proxy', 'no_proxy_entries', 'proxy_trusted_ca'],
    ours: ['network.proxy', 'trust'],
    why: '',
  },
  { theirs: 'custom_cloud_config', fields: ['*'], ours: ['trust', 'files', 'network.hosts'], why: '' },
  { theirs: 'custom_search_domain_config', fields: ['domain_name'], ours: ['network.dns.search'], why: '' },
  {
    theirs: 'custom_search_domain_config',
    fields: ['realm_user', 'realm_password'],
    ours: [],
    why: 'Joining a realm needs a lasting password in the config. Not supported.',
  },
  {
    theirs: 'imds_restriction_config',
    fields: ['*'],
    ours: ['network.metadataForPods'],
    why: 'Closed unless told otherwise.',
  },
  {
    theirs: 'local_dns_profile',
    fields: ['*'],
    ours: ['network.dns', 'kubelet.resolvConf', 'components'],
    why: 'A cache on the node is a component with its own file.',
  },
  {
    theirs: 'service_account_image_pull_profile',
    fields: ['*'],
    ours: ['kubelet.credentialProvider'],
    why: '',
  },
];
