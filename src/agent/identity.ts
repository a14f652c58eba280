// Who this machine is. A disk that was copied from another machine carries that one's keys and names: they are
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
import {
  folderOf,
  makeDurable,
  removeTree,
  replaceFile,
  replaceRunFile,
  type System,
  swapIn,
} from './system/system.ts';

/** `first`: nobody's disk so far. `clone`: another machine's. */
export type IdentityKind = 'same' | 'first' | 'clone';

/** Of the machine that the disk was copied from, and of no use or a danger on this one. */
const foreignState = [
  '/var/lib/kubelet/pki',
  '/var/lib/kubelet/kubeconfig',
  '/var/lib/kubelet/bootstrap-kubeconfig',
  '/var/lib/kubelet/cpu_manager_state',
  '/var/lib/kubelet/memory_manager_state',
  '/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint',
  '/var/lib/kubelet/pods',
  '/var/lib/cni',
  '/var/lib/dhcp',
  '/var/lib/systemd/network',
  '/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes',
  '/var/lib/containerd/io.containerd.grpc.v1.cri/containers',
  '/var/lib/containerd/io.containerd.runtime.v2.task',
  '/var/lib/systemd/random-seed',
  '/var/lib/systemd/credential.secret',
] as const;

/**
 * What the agent knew of the donor: its config is not this machine's, whether it is the same or not. Which paths
 * belong to a config stays known, so that those of the donor's go when this machine's own is applied.
 */
const foreignKnowledge = [
  goodConfigPath,
  failedConfigPath,
  attemptsPath,
  platformReportPath,
  downloadsFolder,
] as const;

/**
 * Makes the identity this machine's own and says what it found. The record is written last, so that whatever cuts
 * this off lets the next start do it again; a second call finds `same`. That of a `first` lasts once `sealIdentity`
 * or a commit of changes has brought it to the disk: until then the disk has nothing that could be another's.
 */
export async function settleIdentity(
  system: System,
  { machineId, name }: { readonly machineId: string; readonly name: string },
): Promise<IdentityKind> {
  const known = recordedMachine(system);
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

function recordedMachine(system: System): string | undefined {
  const text = system.readText(identityPath);
  // A power cut may leave an empty file under the name.
  return text === undefined || text === ''
    ? undefined
    : (JSON.parse(text) as { machineId: string }).machineId;
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
  // Until a config says otherwise, and also when none is ever taken.
  await replaceFile(system, '/etc/hostname', `${name}\n`, 0o644);
  system.setKernelValue('/proc/sys/kernel/hostname', name);
  await replaceFile(system, '/etc/machine-id', `${await newMachineId(system)}\n`, 0o444);
  // Both took the old id at their start: the lease of the network, and the journal's folder.
  await system.run(['systemctl', 'try-restart', 'systemd-journald.service', 'systemd-networkd.service']);
}

async function newMachineId(system: System): Promise<string> {
  const random = system.readText('/proc/sys/kernel/random/uuid')?.trim().replaceAll('-', '');
  if (random !== undefined && /^[0-9a-f]{32}$/.test(random)) return random;
  throw new ImagoError('internal', 'The kernel gives no random id.');
}

function hostKeys(system: System): readonly string[] {
  return system.list('/etc/ssh').filter((name) => /^ssh_host_.*_key(?:\.pub)?$/.test(name));
}

/**
 * Before sshd starts. Only the kind that every client of today knows and that takes no time to make; a second call
 * makes none. Throws `node-apply-failed`.
 */
export async function makeHostKeys(system: System): Promise<void> {
  if (system.facts('/usr/bin/ssh-keygen') === undefined || system.facts('/etc/ssh') === undefined) return;
  if (hostKeys(system).some((name) => name.endsWith('_key') && hasText(system, `/etc/ssh/${name}`))) return;
  const key = '/etc/ssh/ssh_host_ed25519_key';
  for (const path of [key, `${key}.pub`]) system.remove(path);
  const { exitCode, stderr } = await system.run([
    'ssh-keygen',
    '-q',
    '-t',
    'ed25519',
    '-N',
    '',
    '-C',
    '',
    '-f',
    key,
  ]);
  if (exitCode === 0) return;
  throw new ImagoError('node-apply-failed', `No ssh host key could be made: ${stderr.trim() || exitCode}.`);
}

/** A power cut may leave an empty file under the name. */
function hasText(system: System, path: string): boolean {
  return (system.facts(path)?.size ?? 0) > 0;
}
