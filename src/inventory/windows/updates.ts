// The updates on a Windows disk, from the registry of its component store. A cumulative update does not have its KB in
// its name: the manifest beside it says it.
import type { InventoryPatch } from '../model/inventory.ts';
import type { HiveKey } from './registry-hive/hive.ts';
import type { WindowsSystem } from './system.ts';

const servicingKey = 'HKLM\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing';
const manifests = '/Windows/servicing/Packages';
const maxManifest = 4 * 1024 * 1024;
const states: Readonly<Record<number, string>> = {
  64: 'staged',
  80: 'superseded',
  96: 'pending a restart',
  112: 'installed',
  128: 'permanent',
};

const kinds = [
  [/^Package_for_RollupFix/i, 'cumulative'],
  [/^Package_for_ServicingStack/i, 'servicing-stack'],
  [/^Package_for_DotNetRollup/i, 'dotnet'],
  [/^Package_for_KB/i, 'update'],
] as const;

export interface InstalledPackages {
  readonly patches: readonly InventoryPatch[];
  /** Features on demand: `OpenSSH-Server-Package 10.0.20348.1`. */
  readonly capabilities: readonly string[];
}

/** Those that are not superseded, in the order of their installation. */
export async function readPackages(system: WindowsSystem): Promise<InstalledPackages> {
  const found = system.key(`${servicingKey}\\Packages`)?.keys() ?? [];
  const patches: InventoryPatch[] = [];
  const capabilities: string[] = [];
  for (const key of found) {
    const state = key.number('CurrentState') ?? 0;
    const [name = '', , , , version = ''] = key.name.split('~');
    const kind = kinds.find(([pattern]) => pattern.test(name))?.[1];
    if (kind !== undefined && state !== 0 && state !== 0x50) {
      patches.push(await describePatch(system, key, { kind, version, state }));
    } else if (/-(?:FoD-)?Package$/i.test(name) && state === 0x70 && key.number('Visibility') === 1) {
      capabilities.push(`${name} ${version}`);
    }
  }
  const order = ({ installedAt = '', kb }: InventoryPatch) => `${installedAt} ${kb}`;
  return {
    patches: patches.sort((a, b) => (order(a) < order(b) ? -1 : 1)),
    capabilities: capabilities.sort(),
  };
}

async function describePatch(
  { files }: WindowsSystem,
  key: HiveKey,
  { kind, version, state }: { readonly kind: string; readonly version: string; readonly state: number },
): Promise<InventoryPatch> {
  const entry = await files.find(`${manifests}/${key.name}.mum`);
  const isReadable = entry !== undefined && entry.unreadable === undefined && entry.size <= maxManifest;
  const text = isReadable ? (await files.read(entry, maxManifest)).toString('utf8') : '';
  const told = /<package\b[^>]*\bidentifier="(KB\d+)"/i.exec(text)?.[1];
  const release = /<package\b[^>]*\breleaseType="([^"]{1,60})"/i.exec(text)?.[1];
  const installedAt = fileTime(key);
  return {
    kb: (told ?? /KB\d+/i.exec(key.name)?.[0] ?? key.name).toUpperCase(),
    class: '',
    sha256: '',
    ...{ kind, version, package: key.name, state: states[state] ?? `0x${state.toString(16)}` },
    ...(release !== undefined && { release }),
    ...(installedAt !== undefined && { installedAt }),
  };
}

function fileTime(key: HiveKey): string | undefined {
  const [high, low] = [key.number('InstallTimeHigh'), key.number('InstallTimeLow')];
  if (high === undefined || low === undefined) return undefined;
  const ms = (high * 2 ** 32 + low) / 1e4 - 11_644_473_600_000;
  return Math.abs(ms) < 8.64e15 ? new Date(Math.floor(ms)).toISOString() : undefined;
}
