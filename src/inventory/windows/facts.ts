// What the registry of a Windows disk says about the system: version, features, services, drivers, programs, settings.
import type { InventoryWindows } from '../model/inventory.ts';
import { valueText } from './registry-hive/hive.ts';
import type { WindowsSystem } from './system.ts';

const windowsNt = 'HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion';
const currentVersion = 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion';
const services = 'HKLM\\SYSTEM\\CurrentControlSet\\Services';
const featureCache = 'HKLM\\SOFTWARE\\Microsoft\\ServerManager\\ServicingStorage\\ServerComponentCache';
const starts = ['boot', 'system', 'automatic', 'manual', 'disabled'];

/** Settings that nodes depend on; the notes of AgentBaker tell them as well. */
const toldKeys = [
  `${services}\\hns\\State`,
  `${services}\\wcifs`,
  'HKLM\\SOFTWARE\\Policies\\Microsoft\\Windows\\WindowsUpdate\\AU',
  'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Windows Containers',
  'HKLM\\SYSTEM\\CurrentControlSet\\Policies\\Microsoft\\FeatureManagement\\Overrides',
];

export function readVersion(system: WindowsSystem): NonNullable<InventoryWindows['version']> {
  const ubr = system.number(windowsNt, 'UBR');
  return {
    product: system.text(windowsNt, 'ProductName'),
    edition: system.text(windowsNt, 'EditionID'),
    installation: system.text(windowsNt, 'InstallationType'),
    display: system.text(windowsNt, 'DisplayVersion'),
    build: Number(system.text(windowsNt, 'CurrentBuildNumber')) || 0,
    ...(ubr !== undefined && { ubr }),
  };
}

export function readFeatures(system: WindowsSystem): string[] {
  const cache = system.key(featureCache)?.keys() ?? [];
  return cache
    .filter((key) => key.number('InstallState') === 1)
    .map(({ name }) => name)
    .sort();
}

type Service = InventoryWindows['services'][number];

/** Services of programs, and drivers of the kernel. */
export function readServices(system: WindowsSystem): { services: Service[]; drivers: Service[] } {
  const found: { services: Service[]; drivers: Service[] } = { services: [], drivers: [] };
  for (const key of system.key(services)?.keys() ?? []) {
    const [type, start] = [key.number('Type'), key.number('Start')];
    if (type === undefined || start === undefined) continue;
    const isDelayed = key.number('DelayedAutostart') === 1;
    const [path, account] = [key.text('ImagePath'), key.text('ObjectName')];
    const item = {
      name: key.name,
      start: `${starts[start] ?? `0x${start.toString(16)}`}${isDelayed ? ' (delayed)' : ''}`,
      ...(path !== '' && { path }),
      ...(account !== '' && { account }),
    };
    if ((type & 0x30) !== 0) found.services.push(item);
    else if ((type & 0x0b) !== 0) found.drivers.push(item);
  }
  const byName = (a: Service, b: Service) => (a.name < b.name ? -1 : 1);
  found.services.sort(byName);
  found.drivers.sort(byName);
  return found;
}

export function readPrograms(system: WindowsSystem): NonNullable<InventoryWindows['programs']> {
  const places = [currentVersion, currentVersion.replace('SOFTWARE\\', 'SOFTWARE\\WOW6432Node\\')];
  return places
    .flatMap((place) => system.key(`${place}\\Uninstall`)?.keys() ?? [])
    .map((key) => ({
      name: key.text('DisplayName'),
      version: key.text('DisplayVersion'),
      publisher: key.text('Publisher'),
    }))
    .filter(({ name }) => name !== '')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `Paths C:\ProgramData\containerd`: what Defender does not look at. */
export function readExclusions(system: WindowsSystem): string[] {
  const roots = ['HKLM\\SOFTWARE\\Microsoft', 'HKLM\\SOFTWARE\\Policies\\Microsoft'];
  return roots
    .flatMap((root) =>
      ['Paths', 'Processes', 'Extensions'].flatMap((kind) =>
        (system.key(`${root}\\Windows Defender\\Exclusions\\${kind}`)?.values() ?? []).map(
          ({ name }) => `${kind} ${name}`,
        ),
      ),
    )
    .sort();
}

/** The values at the paths that a recipe names, as they are on the disk; and those of the keys above. */
export function readRegistry(
  system: WindowsSystem,
  wanted: readonly { readonly path: string; readonly name: string }[],
): InventoryWindows['registry'] {
  const asked = wanted.flatMap(({ path, name }) => {
    const value = system.key(path)?.value(name);
    return value === undefined ? [] : [{ path, name, value: valueText(value) }];
  });
  const told = toldKeys.flatMap((path) =>
    (system.key(path)?.values() ?? [])
      .filter(({ name }) => !asked.some((one) => same(one.path, path) && same(one.name, name)))
      .filter(({ type }) => type === 4 || type === 1)
      .map((value) => ({ path, name: value.name, value: valueText(value) })),
  );
  return [...asked, ...told];
}

/** Whether the disk is sealed, and what of its updates waits for a restart. */
export function readSeal(system: WindowsSystem): NonNullable<InventoryWindows['seal']> {
  const servicing = `${currentVersion}\\Component Based Servicing`;
  const pending = [
    ...['RebootPending', 'PackagesPending'].filter(
      (name) => system.key(`${servicing}\\${name}`) !== undefined,
    ),
    ...(system.key(`${currentVersion}\\WindowsUpdate\\Auto Update\\RebootRequired`) === undefined
      ? []
      : ['RebootRequired']),
  ];
  return {
    imageState: system.text(`${currentVersion}\\Setup\\State`, 'ImageState'),
    pending,
    timeZone: system.text('HKLM\\SYSTEM\\CurrentControlSet\\Control\\TimeZoneInformation', 'TimeZoneKeyName'),
  };
}

function same(a: string, b: string): boolean {
  return a.toUpperCase() === b.toUpperCase();
}
