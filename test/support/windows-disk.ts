// A disk that strangers' tools take for Windows Server, made from nothing: hives by hivexsh, a volume by mkntfs and
// wimlib, a partition table of our own. What a test cares about is changed through `WindowsChange`.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { makeDisk } from './donor-disk.ts';
import { type HiveContent, makeHive } from './hive.ts';
import { makeNtfs, type NtfsItems } from './ntfs-volume.ts';

export interface WindowsChange {
  readonly software?: HiveContent;
  readonly system?: HiveContent;
  readonly sam?: HiveContent;
  readonly security?: HiveContent;
  readonly files?: NtfsItems['files'];
  readonly streams?: NonNullable<NtfsItems['streams']>;
  readonly ubr?: number;
  readonly megabytes?: number;
  /** Paths that it does not have. */
  readonly without?: readonly string[];
}

const basicData = 'ebd0a0a2-b9e5-4433-87c0-68b6b72699c7';
const nt = 'Microsoft\\Windows NT\\CurrentVersion';
const current = 'Microsoft\\Windows\\CurrentVersion';
const packages = `${current}\\Component Based Servicing\\Packages`;
const packageKey = (name: string) => `${packages}\\${name}`;
const key = '31bf3856ad364e35~amd64';

/** A package as the component store has it, and the manifest that tells its number. */
export function installedUpdate(
  name: string,
  version: string,
  kb: string,
  { state = 0x70, release = 'Security Update' }: { readonly state?: number; readonly release?: string } = {},
): Pick<WindowsChange, 'software' | 'files'> {
  const full = `${name}~${key}~~${version}`;
  const time = { InstallTimeHigh: 0x01db_0000, InstallTimeLow: 0 };
  return {
    software: {
      [packageKey(full)]: { CurrentState: state, InstallClient: 'DISM', Visibility: 1, ...time },
    },
    files: {
      [`Windows/servicing/Packages/${full}.mum`]: `<?xml version="1.0"?>\r\n<assembly><package identifier="${kb}" releaseType="${release}"/></assembly>`,
    },
  };
}

export function mergeChanges(...changes: readonly WindowsChange[]): WindowsChange {
  const merge = (part: 'software' | 'system' | 'sam' | 'security') =>
    Object.assign({}, ...changes.map((change) => change[part])) as HiveContent;
  const ubr = changes.findLast((change) => change.ubr !== undefined)?.ubr;
  return {
    ...{
      software: merge('software'),
      system: merge('system'),
      sam: merge('sam'),
      security: merge('security'),
    },
    files: Object.assign({}, ...changes.map(({ files }) => files)) as NtfsItems['files'],
    streams: Object.assign({}, ...changes.map(({ streams }) => streams)) as NonNullable<NtfsItems['streams']>,
    ...(ubr !== undefined && { ubr }),
  };
}

const sealedState = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE';

function cleanSystem(ubr: number): WindowsChange {
  const service = (name: string, type: number, start: number): HiveContent => ({
    [`ControlSet001\\Services\\${name}`]: {
      Type: type,
      Start: start,
      ErrorControl: 1,
      ImagePath: `\\SystemRoot\\System32\\${name}.exe`,
      ...(type >= 0x10 && { ObjectName: 'LocalSystem' }),
    },
  });
  return mergeChanges(
    installedUpdate('Package_for_RollupFix', `20348.${ubr}.1.3`, 'KB5032198'),
    installedUpdate('Package_for_ServicingStack_2180', '20348.2180.1.0', 'KB5032310', { release: 'Update' }),
    installedUpdate('Package_for_DotNetRollup_481', '10.0.9206.1', 'KB5032008', { release: 'Update' }),
    {
      software: {
        [nt]: {
          ProductName: 'Windows Server 2022 Datacenter',
          EditionID: 'ServerDatacenter',
          InstallationType: 'Server Core',
          DisplayVersion: '21H2',
          CurrentVersion: '6.3',
          CurrentBuild: '20348',
          CurrentBuildNumber: '20348',
          CurrentMajorVersionNumber: 10,
          CurrentMinorVersionNumber: 0,
          UBR: ubr,
          SystemRoot: 'C:\\Windows',
        },
        [`${current}\\Setup\\State`]: { ImageState: sealedState },
        [packageKey(`OpenSSH-Server-Package~${key}~~10.0.20348.1`)]: { CurrentState: 0x70, Visibility: 1 },
        'Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache\\Containers': { InstallState: 1 },
        'Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache\\Hyper-V': { InstallState: 1 },
        'Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache\\DNS': { InstallState: 0 },
        [`${current}\\Uninstall\\{1}`]: {
          DisplayName: 'Example Agent',
          DisplayVersion: '2.1',
          Publisher: 'Example',
        },
        'Microsoft\\Windows Defender\\Exclusions\\Paths': { 'C:\\ProgramData\\containerd': 0 },
        'Policies\\Microsoft\\Windows\\WindowsUpdate\\AU': { NoAutoUpdate: 1 },
      },
      system: {
        Select: { Current: 1, Default: 1, Failed: 0, LastKnownGood: 1 },
        'ControlSet001\\Control\\ComputerName\\ComputerName': { ComputerName: 'WIN-SEALED' },
        'ControlSet001\\Control\\TimeZoneInformation': { TimeZoneKeyName: 'UTC' },
        'ControlSet001\\Services\\hns\\State': { EnableCompartmentNamespace: 1 },
        ...service('wuauserv', 0x20, 4),
        ...service('containerd', 0x10, 2),
        ...service('storahci', 1, 0),
      },
      sam: { 'SAM\\Domains\\Account\\Users\\Names': { '': '' } },
      security: { 'Policy\\Secrets': { '': '' } },
      files: {
        'Windows/System32/ntoskrnl.exe': Buffer.alloc(9000, 1),
        'Windows/System32/drivers/etc/hosts': '127.0.0.1 localhost\r\n',
        'Windows/Setup/State/State.ini': `[State]\r\nImageState=${sealedState}\r\n`,
        'Windows/System32/Sysprep/Sysprep_succeeded.tag': '',
        [`Windows/WinSxS/amd64_hns_31bf3856ad364e35_10.0.20348.${ubr}_none_1/hns.dll`]: 'hns',
        'k/1.34.2/kubelet.exe': 'kubelet',
        'Users/Public/Desktop/': '',
      },
    },
  );
}

/** Makes the raw disk `name` in `folder` and returns its path. The tools of `windows` are fetched if they are missing. */
export async function makeWindowsDisk(
  folder: string,
  name: string,
  change: WindowsChange = {},
): Promise<string> {
  await fetchTools({ group: 'windows' });
  const content = mergeChanges(cleanSystem(change.ubr ?? 2113), change);
  const work = await mkdtemp(join(folder, 'windows-'));
  try {
    const files: Record<string, string | Uint8Array> = { ...content.files };
    for (const path of change.without ?? []) delete files[path];
    for (const hive of ['software', 'system', 'sam', 'security'] as const) {
      const path = join(work, hive);
      await makeHive(path, content[hive] ?? {});
      files[`Windows/System32/config/${hive.toUpperCase()}`] = await readFile(path);
    }
    const volume = join(work, 'volume');
    const streams = content.streams ?? {};
    await makeNtfs(volume, { files, streams }, { megabytes: change.megabytes ?? 32 });
    return (await makeDisk(folder, name, [{ type: basicData, file: volume }])).path;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
