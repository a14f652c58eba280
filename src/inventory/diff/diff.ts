// What differs between two inventories, and whether a hotfix moved anything else than it was meant to.
import type {
  Inventory,
  InventoryContainerImage,
  InventoryFile,
  InventoryPackage,
  InventoryPatch,
  InventoryUnit,
} from '../model/inventory.ts';

export interface Changed<T> {
  readonly name: string;
  /** Absent when it is new. */
  readonly before?: T;
  /** Absent when it is gone. */
  readonly after?: T;
  /** Which of its fields differ; the empty list for what is new or gone. */
  readonly fields: readonly string[];
}

export interface InventoryDiff {
  readonly packages: readonly Changed<InventoryPackage>[];
  readonly files: readonly Changed<InventoryFile>[];
  readonly units: readonly Changed<InventoryUnit>[];
  /** By place: `sysctl vm.swappiness`, `user admin`, `kernel`. */
  readonly settings: readonly Changed<string>[];
  readonly containerImages: readonly Changed<InventoryContainerImage>[];
  /** Features, patches, services, cached files and registry values of Windows. */
  readonly windows: readonly Changed<string>[];
  /** Only those that differ. */
  readonly sizes: readonly Changed<number>[];
}

/** Lists are in the order of names. What is the same on both sides is left out. */
export function diffInventories(before: Inventory, after: Inventory): InventoryDiff {
  const versions = (items: readonly InventoryPackage[]) =>
    keyed(items, (item) => `${item.name}:${item.architecture}`);
  return {
    packages: compare(versions(before.packages), versions(after.packages)),
    files: compare(keyed(before.files, pathOf), keyed(after.files, pathOf)),
    units: compare(keyed(before.units, nameOf), keyed(after.units, nameOf)),
    settings: compare(settingsOf(before), settingsOf(after)),
    containerImages: compare(keyed(before.containerImages, nameOf), keyed(after.containerImages, nameOf)),
    windows: compare(windowsOf(before), windowsOf(after)),
    sizes: compare(new Map(Object.entries(before.sizes)), new Map(Object.entries(after.sizes))),
  };
}

/** Whether the two are the same in everything. */
export function isSame(diff: InventoryDiff): boolean {
  return Object.values(diff).every((changes) => changes.length === 0);
}

function pathOf({ path }: InventoryFile): string {
  return path;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function keyed<T>(items: readonly T[], key: (item: T) => string): Map<string, T> {
  return new Map(items.map((item) => [key(item), item]));
}

function compare<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): Changed<T>[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names.flatMap((name): Changed<T>[] => {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined || is === undefined) {
      return [
        {
          name,
          fields: [],
          ...(was !== undefined && { before: was }),
          ...(is !== undefined && { after: is }),
        },
      ];
    }
    const fields = changedFields(was, is);
    return fields.length === 0 ? [] : [{ name, before: was, after: is, fields }];
  });
}

function changedFields(before: unknown, after: unknown): string[] {
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) {
    return before === after ? [] : ['value'];
  }
  const [was, is] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...was.keys(), ...is.keys()])];
  return keys.filter((key) => JSON.stringify(was.get(key)) !== JSON.stringify(is.get(key)));
}

function settingsOf({ settings, kernel, system, release }: Inventory): Map<string, string> {
  const { sysctl, modules, kernelArguments, users, groups } = settings;
  return new Map([
    ['system', system],
    ['kernel', kernel.version],
    ['kernel sha256', kernel.sha256],
    ['initrd sha256', kernel.initrdSha256],
    ['kernel arguments', kernelArguments.join(' ')],
    ...Object.entries(release).map(([name, value]) => [`release ${name}`, value] as const),
    ...Object.entries(sysctl).map(([name, value]) => [`sysctl ${name}`, value] as const),
    ...modules.map((name) => [`module ${name}`, 'loaded'] as const),
    ...users.map((user) => [`user ${user.name}`, describeUser(user)] as const),
    ...groups.map((group) => [`group ${group.name}`, [group.gid, ...group.members].join(' ')] as const),
  ]);
}

function describeUser(user: Inventory['settings']['users'][number]): string {
  const login = user.hasPassword ? 'password' : 'no password';
  return [user.uid, user.gid, user.home, user.shell, login].join(' ');
}

function windowsOf({ windows }: Inventory): Map<string, string> {
  if (windows === undefined) return new Map();
  const { version, features, capabilities = [], patches, services, drivers = [], programs = [] } = windows;
  const { exclusions = [], cachedFiles, registry, seal, findings = [] } = windows;
  return new Map([
    ...(version === undefined ? [] : [['build', `${version.build}.${version.ubr ?? ''}`] as const]),
    ...(seal === undefined ? [] : [['image state', seal.imageState] as const]),
    ...features.map((name) => [`feature ${name}`, 'on'] as const),
    ...capabilities.map((name) => [`capability ${name}`, 'on'] as const),
    ...patches.map((patch) => [`patch ${patch.kb}`, describePatch(patch)] as const),
    ...services.map(({ name, start }) => [`service ${name}`, start] as const),
    ...drivers.map(({ name, start }) => [`driver ${name}`, start] as const),
    ...programs.map(({ name, version: number }) => [`program ${name}`, number] as const),
    ...exclusions.map((name) => [`exclusion ${name}`, 'on'] as const),
    ...cachedFiles.map((file) => [`file ${file.name} ${file.version}`, file.sha256] as const),
    ...registry.map(({ path, name, value }) => [`registry ${path}\\${name}`, value] as const),
    ...findings.map(({ path, rule }) => [`finding ${path}`, rule] as const),
  ]);
}

function describePatch({ class: kind, sha256, version = '', state = '' }: InventoryPatch): string {
  return [kind, sha256, version, state].filter((part) => part !== '').join(' ');
}
