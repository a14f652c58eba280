// Identities and secrets on a Windows disk: what a sealed image must not hold, and what must differ between two machines.

import { searchSecrets } from '../../disk/clean/secrets.ts';
import type { FileEntry } from '../../disk/tree/file-tree.ts';
import { sealedState } from '../../domain/build/windows-job.ts';
import type { InventoryFinding } from '../model/inventory.ts';
import type { WindowsSystem } from './system.ts';

const state = 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State';
const winlogon = 'HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon';
const update = 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate';
const certificates = 'HKLM\\SOFTWARE\\Microsoft\\SystemCertificates';
const profiles = 'HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\ProfileList';
const listeners = 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WSMAN\\Listener';

interface FileRule {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly reason: string;
}

/** By paths in lower case. */
const fileRules: readonly FileRule[] = [
  {
    rule: 'machine-key',
    pattern: /^\/programdata\/microsoft\/crypto\/rsa\/machinekeys\/./,
    reason: 'A private key of the machine.',
  },
  {
    rule: 'cloud-agent',
    pattern: /^\/(?:windowsazure\/|packages\/plugins\/.|azuredata\/.)/,
    reason: 'State of the agent of the cloud, with what ran on the machine.',
  },
  { rule: 'ssh', pattern: /^\/programdata\/ssh\/ssh_host_/, reason: 'A key of the SSH server.' },
  {
    rule: 'ssh',
    pattern: /^\/(?:programdata\/ssh\/administrators_authorized_keys$|users\/[^/]+\/\.ssh\/.)/,
    reason: 'Keys that let someone in.',
  },
  {
    rule: 'node-state',
    pattern: /^\/(?:k\/[^/]*kubeconfig|etc\/kubernetes\/.|k\/config$|var\/lib\/kubelet\/pki\/.)/,
    reason: 'The identity of a node.',
  },
  {
    rule: 'history',
    pattern: /\/psreadline\/consolehost_history\.txt$/,
    reason: 'The commands that someone typed.',
  },
  {
    rule: 'memory',
    pattern: /^\/(?:hiberfil\.sys|windows\/memory\.dmp|windows\/minidump\/.)/,
    reason: 'The memory of a machine.',
  },
  { rule: 'recycle-bin', pattern: /^\/\$recycle\.bin\/[^/]+\/\$[ri]/, reason: 'A deleted file.' },
  {
    rule: 'temporary',
    pattern: /^\/windows\/temp\/./,
    reason: 'What was left behind while the machine ran.',
  },
  { rule: 'key-store', pattern: /\.(?:pfx|p12|keytab|jks)$/, reason: 'A store of private keys.' },
];

const answerFile =
  /^\/(?:unattend\.xml|windows\/panther\/(?:.*\/)?unattend\.xml|windows\/system32\/sysprep\/unattend\.xml|windows\/oem\/.*\.xml)$/;
/** Windows' own files are not searched: they are Microsoft's, and many. */
const unsearched = /^\/(?:windows|program files(?: \(x86\))?\/windows[^/]*|programdata\/containerd\/root)\//;
const maxSearched = 1024 * 1024;

/** In the order of their paths. Every file outside of Windows' own folders is searched, up to 1 MiB. */
export async function findIdentities(
  system: WindowsSystem,
  entries: readonly FileEntry[],
): Promise<readonly InventoryFinding[]> {
  return [...registryFindings(system), ...(await fileFindings(system, entries))].sort((a, b) =>
    `${a.path}\0${a.rule}` < `${b.path}\0${b.rule}` ? -1 : 1,
  );
}

async function fileFindings(
  { files }: WindowsSystem,
  entries: readonly FileEntry[],
): Promise<InventoryFinding[]> {
  const found: InventoryFinding[] = [];
  for (const entry of entries) {
    if (entry.type !== 'file') continue;
    const [path, lower] = [entry.path, entry.path.toLowerCase()];
    const add = (rule: string, reason: string) => found.push({ rule, path, reason, level: 'fail' });
    for (const { rule, pattern, reason } of fileRules) if (pattern.test(lower)) add(rule, reason);
    const isAnswer = answerFile.test(lower);
    if (entry.size === 0 || entry.size > maxSearched || entry.unreadable !== undefined) continue;
    if (!isAnswer && unsearched.test(lower)) continue;
    const bytes = await files.read(entry, maxSearched);
    if (isAnswer && /<(?:AdministratorPassword|Password)\b/i.test(anyText(bytes))) {
      add('answer-file', 'An answer file with a password.');
    }
    const secrets = searchSecrets(bytes.length);
    secrets.push(bytes);
    for (const kind of new Set(secrets.end())) add(kind, `The content looks like a secret: ${kind}.`);
  }
  return found;
}

function anyText(bytes: Buffer): string {
  return bytes.includes(Buffer.from('<\0', 'latin1')) ? bytes.toString('utf16le') : bytes.toString('utf8');
}

function registryFindings(system: WindowsSystem): InventoryFinding[] {
  const found: InventoryFinding[] = [];
  const add = (rule: string, path: string, reason: string, level: InventoryFinding['level'] = 'fail') =>
    found.push({ rule, path, reason, level });
  const imageState = system.text(state, 'ImageState');
  if (imageState !== sealedState) {
    add('not-sealed', `${state}\\ImageState`, `It says ${imageState || 'nothing'} and not ${sealedState}.`);
  }
  if (system.text(winlogon, 'DefaultPassword') !== '') {
    add('autologon', `${winlogon}\\DefaultPassword`, 'A password to sign in with.');
  }
  if (system.text(winlogon, 'AutoAdminLogon') === '1') {
    add('autologon', `${winlogon}\\AutoAdminLogon`, 'The machine signs someone in automatically.');
  }
  for (const name of ['SusClientId', 'SusClientIdValidation', 'PingID']) {
    if (system.text(update, name) !== '')
      add('update-identity', `${update}\\${name}`, 'Windows Update knows the machine by it.');
  }
  for (const store of ['MY', 'Remote Desktop']) {
    const place = `${certificates}\\${store}\\Certificates`;
    for (const { name } of system.key(place)?.keys() ?? []) {
      add('certificate', `${place}\\${name}`, 'A certificate of the machine.');
    }
  }
  for (const { name } of system.key(listeners)?.keys() ?? []) {
    add('remote-listener', `${listeners}\\${name}`, 'WinRM listens for commands.');
  }
  for (const { name } of system.key(profiles)?.keys() ?? []) {
    if (/^S-1-5-21-/.test(name) && !name.endsWith('-500')) {
      add('profile', `${profiles}\\${name}`, 'The profile of a user.');
    }
  }
  accountFindings(system, add);
  secretFindings(system, add);
  const host = system.text(
    'HKLM\\SYSTEM\\CurrentControlSet\\Control\\ComputerName\\ComputerName',
    'ComputerName',
  );
  if (host !== '')
    add(
      'host-name',
      'HKLM\\SYSTEM\\CurrentControlSet\\Control\\ComputerName',
      'The name of the machine.',
      'note',
    );
  const guid = 'HKLM\\SOFTWARE\\Microsoft\\Cryptography';
  if (system.text(guid, 'MachineGuid') !== '') {
    add('machine-guid', `${guid}\\MachineGuid`, 'The identity of the machine.', 'note');
  }
  return found;
}

type Add = (rule: string, path: string, reason: string, level?: InventoryFinding['level']) => void;

const fixedPart = 0xcc;

/** An account whose password has a hash. What the hash is, is not read. */
function accountFindings({ sam }: WindowsSystem, add: Add): void {
  const users = sam?.key('SAM\\Domains\\Account\\Users') ?? sam?.key('Domains\\Account\\Users');
  for (const user of users?.keys() ?? []) {
    if (!/^[0-9A-F]{8}$/i.test(user.name)) continue;
    const value = user.value('V')?.bytes;
    const flags = user.value('F')?.bytes;
    if (value === undefined || value.length < fixedPart) continue;
    const isOff = flags !== undefined && flags.length > 0x38 && (flags.readUInt8(0x38) & 1) !== 0;
    if (!hasPassword(value) || isOff) continue;
    add(
      'password',
      `HKLM\\SAM\\SAM\\Domains\\Account\\Users\\${user.name}`,
      'An account that has a password.',
    );
  }
}

/** The hash has a head of 4 bytes, or of 24 in newer systems, where the offset of its data is 0 if there is none. */
function hasPassword(value: Buffer): boolean {
  const [start, length] = [value.readUInt32LE(0xa8) + fixedPart, value.readUInt32LE(0xac)];
  if (length <= 4 || start + length > value.length) return false;
  const revision = value.readUInt16LE(start + 2);
  if (revision === 1) return length > 4;
  return length > 24 || (length >= 8 && value.readUInt32LE(start + 4) !== 0);
}

function secretFindings({ security }: WindowsSystem, add: Add): void {
  for (const { name } of security?.key('Policy\\Secrets')?.keys() ?? []) {
    if (/^(?:\$MACHINE\.ACC|DefaultPassword|_SC_.*)$/i.test(name)) {
      add('lsa-secret', `HKLM\\SECURITY\\Policy\\Secrets\\${name}`, 'A secret of the system.');
    }
  }
  for (const { name, bytes } of security?.key('Cache')?.values() ?? []) {
    if (/^NL\$\d+$/i.test(name) && bytes.some((byte) => byte !== 0)) {
      add('cached-logon', `HKLM\\SECURITY\\Cache\\${name}`, 'A kept sign-in of someone.');
    }
  }
}
