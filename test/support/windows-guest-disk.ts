// The disk of a scripted Windows as a real one: made from what the guest did, so that a reader judges it.
import type { WindowsGuest } from '../../src/providers/sim/world/windows-state.ts';
import type { HiveContent, HiveDatum } from './hive.ts';
import { installedUpdate, makeWindowsDisk, mergeChanges, type WindowsChange } from './windows-disk.ts';

const startNumbers: Readonly<Record<string, number>> = { automatic: 2, manual: 3, disabled: 4 };
const current = 'Microsoft\\Windows\\CurrentVersion';

export function makeGuestDisk(folder: string, name: string, guest: WindowsGuest): Promise<string> {
  const updates = Object.entries(guest.updates).map(([kb, { state, build = '' }]): WindowsChange => {
    const found = installedUpdate(`Package_for_${kb}`, `${build === '' ? '1.0' : build}.1.0`, kb, { state });
    return found;
  });
  const software: Record<string, Record<string, HiveDatum>> = {
    [`${current}\\Setup\\State`]: { ImageState: guest.imageState },
  };
  const system: Record<string, Record<string, HiveDatum>> = {};
  const servicing = `${current}\\Component Based Servicing`;
  for (const pending of guest.pending) software[`${servicing}\\${pending}`] = { '': '' };
  for (const feature of guest.features) {
    software[`Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache\\${feature}`] = {
      InstallState: 1,
    };
  }
  for (const [key, { value }] of Object.entries(guest.registry)) {
    const [, hive = '', path = '', entry = ''] = /^HKLM\\(\w+)\\(.*)\\([^\\]*)$/.exec(key) ?? [];
    const place = path.replace(/^CurrentControlSet/, 'ControlSet001');
    const into = hive === 'SYSTEM' ? system : software;
    into[place] = { ...into[place], [entry]: value };
  }
  for (const [service, start] of Object.entries(guest.services)) {
    system[`ControlSet001\\Services\\${service}`] = {
      ...{ Type: 0x20, Start: startNumbers[start] ?? 3, ErrorControl: 1, ImagePath: `${service}.exe` },
    };
  }
  const change: WindowsChange = {
    ...{ software: software as HiveContent, system: system as HiveContent, ubr: guest.ubr },
    files: {
      ...guest.files,
      'Windows/Setup/State/State.ini': `[State]\r\nImageState=${guest.imageState}\r\n`,
    },
  };
  return makeWindowsDisk(folder, name, {
    ...mergeChanges(...updates, change),
    ubr: guest.ubr,
    without: guest.tag ? [] : ['Windows/System32/Sysprep/Sysprep_succeeded.tag'],
  });
}
