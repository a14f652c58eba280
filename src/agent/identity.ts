// The identity of this machine. A disk that was copied from another machine contains that one's keys and names: they are
// replaced before anything uses them.
import { ImagoError } from '../domain/error/imago-error.ts';
import { noteForeignContainers } from './apply/foreign-containers.ts';
import {
  attemptsPath,
  downloadsFolder,
  failedConfigPath,
  goodConfigPath,
  identifiedPath,
  identityPath,
  platformReportPath,
  stateFolder,
} from './system/paths.ts';
import { runOrThrow } from './system/program-error.ts';
import {
  folderOf,
  makeDurable,
  readRecord,
  removeTree,
  replaceFile,
  replaceRunFile,
  type System,
  swapIn,
} from './system/system.ts';

/** `first`: a disk without an identity. `clone`: the disk of another machine. */
export type IdentityKind = 'same' | 'first' | 'clone';

/** State of the machine that the disk was copied from, useless or dangerous on this one. */
const foreignState = [
  '/var/lib/kubelet/pki',
  '/var/lib/kubelet/kubeconfig',
  '/var/lib/kubelet/bootstrap-kubeconfig',
  '/var/lib/kubelet/cpu_manager_state',
  '/var/lib/kubelet/memory_manager_state',
  '/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint',
  '/var/lib/kubelet/pods',
  '/var/lib/cni',
  // Written by containerd from a template, with the pod range of the donor.
  '/etc/cni/net.d/10-containerd-net.conflist',
  '/var/lib/dhcp',
  '/var/lib/systemd/network',
  '/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes',
  '/var/lib/containerd/io.containerd.grpc.v1.cri/containers',
  '/var/lib/containerd/io.containerd.runtime.v2.task',
  '/var/lib/systemd/random-seed',
  '/var/lib/systemd/credential.secret',
] as const;

/**
 * The agent's records of the donor: its config is not this machine's, even if it is the same. The managed paths stay
 * recorded, so that those of the donor are removed when this machine's config is applied.
 */
const foreignKnowledge = [
  goodConfigPath,
  failedConfigPath,
  attemptsPath,
  platformReportPath,
  downloadsFolder,
] as const;

/**
 * Settles the identity of this machine and returns what it found. The record is written last, so that the next start
 * repeats an interrupted call; a second call finds `same`. The record of a `first` is durable after `sealIdentity` or a
 * commit of changes: until then the disk has nothing that could be another machine's.
 */
export async function settleIdentity(
  system: System,
  { machineId, name }: { readonly machineId: string; readonly name: string },
): Promise<IdentityKind> {
  // A power failure can leave an empty file.
  const known = readRecord<{ machineId: string }>(system, identityPath)?.machineId;
  const kind = known === machineId ? 'same' : known === undefined ? 'first' : 'clone';
  const record = `${JSON.stringify({ machineId })}\n`;
  if (kind === 'clone') {
    await becomeAnother(system, name);
    await replaceFile(system, identityPath, record, 0o600);
  }
  if (kind === 'first') {
    system.makeFolder(stateFolder, { mode: 0o700 });
    swapIn(system, identityPath, record, 0o600);
  }
  replaceRunFile(system, identifiedPath, '', 0o644);
  return kind;
}

export async function sealIdentity(system: System): Promise<void> {
  await makeDurable(system, [identityPath, stateFolder]);
}

async function becomeAnother(system: System, name: string): Promise<void> {
  const gone = [
    ...[...foreignState, ...foreignKnowledge],
    ...hostKeys(system).map((key) => `/etc/ssh/${key}`),
  ];
  for (const path of gone) removeTree(system, path);
  noteForeignContainers(system);
  const folders = [...gone.map(folderOf), stateFolder];
  await makeDurable(
    system,
    folders.filter((folder) => system.facts(folder) !== undefined),
  );
  // Until a config changes it, and even if none is ever applied.
  await replaceFile(system, '/etc/hostname', `${name}\n`, 0o644);
  system.setKernelValue('/proc/sys/kernel/hostname', name);
  await replaceFile(system, '/etc/machine-id', `${await newMachineId(system)}\n`, 0o444);
  // Both read the old id at their start: for the DHCP lease, and for the journal's directory.
  await system.run(['systemctl', 'try-restart', 'systemd-journald.service', 'systemd-networkd.service']);
}

async function newMachineId(system: System): Promise<string> {
  const random = system.readText('/proc/sys/kernel/random/uuid')?.trim().replaceAll('-', '');
  if (random !== undefined && /^[0-9a-f]{32}$/.test(random)) return random;
  throw new ImagoError('internal', 'The kernel returns no random id.');
}

function hostKeys(system: System): readonly string[] {
  return system.list('/etc/ssh').filter((name) => /^ssh_host_.*_key(?:\.pub)?$/.test(name));
}

/**
 * Creates host keys; call it before sshd starts. Only the type that every current client supports and that is fast to
 * create; a second call creates none. Throws `node-apply-failed`.
 */
export async function makeHostKeys(system: System): Promise<void> {
  if (system.facts('/usr/bin/ssh-keygen') === undefined || system.facts('/etc/ssh') === undefined) return;
  if (hostKeys(system).some((name) => name.endsWith('_key') && hasText(system, `/etc/ssh/${name}`))) return;
  const key = '/etc/ssh/ssh_host_ed25519_key';
  for (const path of [key, `${key}.pub`]) system.remove(path);
  const command = [...['ssh-keygen', '-q', '-t', 'ed25519'], ...['-N', '', '-C', '', '-f', key]];
  await runOrThrow(system, command, { what: 'The SSH host key could not be created' });
}

/** A power failure can leave an empty file. */
function hasText(system: System, path: string): boolean {
  return (system.facts(path)?.size ?? 0) > 0;
}
