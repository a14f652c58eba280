// Which kernel modules must be loaded, and in which order, for a list of drivers: read from the tables
// that depmod leaves beside the modules.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface ModuleTables {
  /** modules.dep: each module with all that it needs. */
  readonly dep: string;
  /** modules.builtin: what is in the kernel itself. */
  readonly builtin: string;
  readonly softdep?: string;
  readonly alias?: string;
}

export interface ModuleIndex {
  /**
   * The files to load for these drivers, each after all that it needs, relative to the kernel's folder.
   * What is built into the kernel needs none. A driver that the kernel does not have at all is
   * left out when it is in `optional`, and `boot-files-invalid` otherwise.
   */
  loadOrder(drivers: readonly string[], optional?: ReadonlySet<string>): string[];
}

export function moduleName(path: string): string {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return file.replace(/\.ko(\.(xz|zst|gz))?$/, '').replaceAll('-', '_');
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

export function moduleIndex(tables: ModuleTables): ModuleIndex {
  const needs = new Map<string, { readonly path: string; readonly needs: readonly string[] }>();
  for (const line of lines(tables.dep)) {
    const [path = '', rest = ''] = line.split(':');
    needs.set(moduleName(path), { path, needs: rest.split(' ').filter((part) => part !== '') });
  }
  const builtin = new Set(lines(tables.builtin).map(moduleName));
  const soft = softDependencies(tables.softdep ?? '');
  const aliases = exactAliases(tables.alias ?? '');

  function add(name: string, order: Set<string>, open: ReadonlySet<string>): boolean {
    const module = needs.get(name);
    if (module === undefined) return builtin.has(name);
    if (order.has(module.path) || open.has(name)) return true;
    const within = new Set([...open, name]);
    for (const before of soft.get(name) ?? []) {
      for (const candidate of [before, ...(aliases.get(before) ?? [])]) add(candidate, order, within);
    }
    for (const path of module.needs.toReversed()) add(moduleName(path), order, within);
    order.add(module.path);
    return true;
  }

  return {
    loadOrder(drivers, optional) {
      const order = new Set<string>();
      for (const driver of drivers) {
        const name = driver.replaceAll('-', '_');
        if (add(name, order, new Set()) || optional?.has(driver) === true) continue;
        throw new ImagoError(
          'boot-files-invalid',
          `the kernel has no driver ${driver}, neither built in nor as a module`,
        );
      }
      return [...order];
    },
  };
}

/** Modules that should be there before another one, though it does not link to them: `softdep X pre: A B`. */
function softDependencies(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of lines(text)) {
    const match = /^softdep (\S+) pre: ([^:]*?)(?: post:.*)?$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    const name = match[1].replaceAll('-', '_');
    found.set(name, [
      ...(found.get(name) ?? []),
      ...match[2]
        .trim()
        .split(/ +/)
        .map((part) => part.replaceAll('-', '_')),
    ]);
  }
  return found;
}

function exactAliases(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of lines(text)) {
    const [, alias, module] = /^alias (\S+) (\S+)$/.exec(line) ?? [];
    if (alias === undefined || module === undefined || /[*?[]/.test(alias)) continue;
    const name = alias.replaceAll('-', '_');
    found.set(name, [...(found.get(name) ?? []), module]);
  }
  return found;
}
