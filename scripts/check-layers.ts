// Keeps who may import whom, as docs/architecture.md says, and that nothing loads itself in a circle.
//   node scripts/check-layers.ts [FOLDER]
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { findCycles } from './find-cycles.ts';
import { impureNames } from './impure-names.ts';
import { type FoundImport, readImports } from './read-imports.ts';
import { readTokens } from './read-tokens.ts';

type Use = 'none' | 'types' | 'any' | readonly string[];

interface Layer {
  /** The layers that it may import, beside itself. */
  readonly may: readonly string[];
  /** Modules of Node. */
  readonly builtins: Use;
  /** Packages from npm. */
  readonly packages: Use;
  /** Reads no clock, no chance, no environment: they are passed in. */
  readonly pure?: true;
}

const basis = ['domain', 'ports', 'async', 'host'] as const;

function layer(...may: readonly string[]): Layer {
  return { may, builtins: 'any', packages: 'any' };
}

export const layers: Readonly<Record<string, Layer>> = {
  domain: { may: [], builtins: 'none', packages: ['zod'], pure: true },
  ports: { may: ['domain'], builtins: 'types', packages: 'types' },
  install: { may: ['domain'], builtins: 'none', packages: 'none' },
  agent: { may: ['domain', 'install'], builtins: 'none', packages: 'none' },
  async: layer('domain', 'ports'),
  host: layer('domain', 'ports', 'async'),
  document: layer('domain'),
  workflow: layer(...basis),
  operations: layer('domain', 'ports', 'async', 'workflow'),
  disk: layer(...basis),
  oci: layer(...basis, 'disk'),
  inventory: layer(...basis, 'install', 'disk', 'oci'),
  'image-store': layer(...basis, 'disk', 'oci', 'inventory'),
  build: layer(...basis, 'install', 'document', 'disk', 'oci', 'inventory'),
  'providers/common': layer(...basis),
  'providers/local': layer(...basis, 'install', 'disk', 'oci', 'providers/common'),
  'providers/azure': layer(...basis, 'install', 'disk', 'oci', 'providers/common'),
  'providers/sim': layer(...basis, 'install', 'disk', 'oci', 'providers/common'),
  kube: layer(...basis),
  database: layer(...basis),
  api: layer('domain'),
  launcher: layer('domain', 'async', 'host', 'api'),
  pages: layer('domain', 'api'),
  cli: layer('domain', 'api', 'launcher', 'pages'),
  web: layer('domain', 'api'),
  daemon: layer(
    ...[...basis, 'install', 'document', 'workflow', 'operations', 'disk', 'oci', 'inventory'],
    ...['image-store', 'build', 'kube', 'database', 'api', 'launcher', 'pages'],
    ...['providers/local', 'providers/azure', 'providers/sim'],
  ),
};

/** What the package brings along when it is installed, and what only developers have. */
export interface Packages {
  readonly shipped: ReadonlySet<string>;
  readonly development: ReadonlySet<string>;
}

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface Report {
  readonly files: number;
  readonly imports: number;
  readonly violations: readonly Violation[];
}

/** Checks sources by their paths from the project's root. Unit tests may import what they like from `src`. */
export function checkLayers(sources: ReadonlyMap<string, string>, packages: Packages): Report {
  const violations: Violation[] = [];
  const loads = new Map<string, readonly { readonly to: string; readonly line: number }[]>();
  let count = 0;
  for (const [file, source] of sources) {
    const tokens = readTokens(source);
    const imports = readImports(tokens);
    count += imports.length;
    loads.set(file, loadedFiles(file, imports, sources));
    if (!file.startsWith('src/')) continue;
    const layer = layerOf(file);
    if (layer === undefined) {
      violations.push({
        file,
        line: 1,
        message: 'stands in no layer: see the table in scripts/check-layers.ts',
      });
      continue;
    }
    for (const one of imports) {
      const message = problem(file, layer, one, packages);
      if (message !== undefined) violations.push({ file, line: one.line, message });
    }
    if (layers[layer]?.pure && !isTest(file)) {
      for (const { name, line } of impureNames(tokens)) {
        violations.push({ file, line, message: `${layer} is pure: ${name} must be passed in` });
      }
    }
  }
  violations.push(...cycles(loads));
  violations.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  return { files: sources.size, imports: count, violations };
}

function layerOf(file: string): string | undefined {
  const [, first, second, third] = file.split('/');
  if (first === undefined || second === undefined) return undefined;
  const nested = `${first}/${second}`;
  if (third !== undefined && Object.hasOwn(layers, nested)) return nested;
  return Object.hasOwn(layers, first) ? first : undefined;
}

function isTest(file: string): boolean {
  return file.endsWith('.test.ts');
}

function problem(file: string, layer: string, one: FoundImport, packages: Packages): string | undefined {
  const { from, kind } = one;
  if (from === undefined) return isTest(file) ? undefined : 'imports a file that is not named in the source';
  if (from.startsWith('.')) return fileProblem(file, layer, path.posix.join(path.posix.dirname(file), from));
  if (from.startsWith('node:') || builtinModules.includes(from)) {
    if (!from.startsWith('node:')) return `writes ${from} for node:${from}`;
    if (isTest(file)) return undefined;
    return useProblem(layer, layers[layer]?.builtins, kind, from);
  }
  const name = from.split('/', from.startsWith('@') ? 2 : 1).join('/');
  const known = packages.shipped.has(name) || packages.development.has(name);
  const typed = packages.development.has(`@types/${name.replace(/^@/, '').replace('/', '__')}`);
  if (isTest(file)) return known ? undefined : `imports ${name}, which is not in package.json`;
  const use = useProblem(layer, layers[layer]?.packages, kind, name);
  if (use !== undefined) return use;
  if (kind === 'type') return known || typed ? undefined : `imports ${name}, which is not in package.json`;
  if (packages.shipped.has(name)) return undefined;
  return `imports ${name}, which is not among the dependencies that are installed with Imago`;
}

function fileProblem(file: string, layer: string, target: string): string | undefined {
  if (isTest(file) && target.startsWith('test/support/')) return undefined;
  if (target.startsWith('test/') || target.startsWith('scripts/'))
    return `imports ${target}: src stands alone`;
  if (isTest(target)) return `imports the test ${target}`;
  if (isTest(file)) return undefined;
  if (!target.startsWith('src/')) {
    return target === 'package.json' && layers[layer]?.packages === 'any'
      ? undefined
      : `imports ${target} outside src`;
  }
  const other = layerOf(target);
  if (other === undefined || other === layer) return undefined;
  const may = layers[layer]?.may ?? [];
  if (may.includes(other)) return undefined;
  const allowed = may.length === 0 ? 'nothing else' : `only ${may.join(', ')}`;
  return `${layer} may not import ${other} (${target}): it imports ${allowed}`;
}

function useProblem(
  layer: string,
  use: Use | undefined,
  kind: FoundImport['kind'],
  from: string,
): string | undefined {
  if (use === 'any' || (use === 'types' && kind === 'type')) return undefined;
  if (Array.isArray(use) && use.includes(from)) return undefined;
  return `${layer} may not import ${from}${use === 'types' ? ', except its types' : ''}`;
}

function loadedFiles(file: string, imports: readonly FoundImport[], sources: ReadonlyMap<string, string>) {
  return imports.flatMap(({ from, kind, line }) => {
    if (kind !== 'value' || from === undefined || !from.startsWith('.')) return [];
    const to = path.posix.join(path.posix.dirname(file), from);
    return sources.has(to) ? [{ to, line }] : [];
  });
}

function cycles(
  loads: ReadonlyMap<string, readonly { readonly to: string; readonly line: number }[]>,
): readonly Violation[] {
  const graph = new Map([...loads].map(([file, targets]) => [file, targets.map(({ to }) => to)]));
  return findCycles(graph).flatMap((cycle) => {
    const [file] = cycle;
    if (file === undefined) return [];
    const line = loads.get(file)?.find(({ to }) => to === (cycle[1] ?? file))?.line ?? 1;
    return [{ file, line, message: `loads itself: ${[...cycle, file].join(' → ')}` }];
  });
}

/** Checks the project in a folder, prints what it found and answers with the exit code. */
export function run(root: string, print: (line: string) => void): number {
  const sources = new Map<string, string>();
  for (const folder of ['src', 'test', 'scripts']) {
    for (const file of typescriptFiles(root, folder))
      sources.set(file, readFileSync(path.join(root, file), 'utf8'));
  }
  const { files, imports, violations } = checkLayers(sources, readPackages(root));
  for (const { file, line, message } of violations) print(`${file}:${line}: ${message}`);
  print(
    violations.length === 0
      ? `${files} files, ${imports} imports: all within their layers, no cycles.`
      : `${violations.length} imports or names are out of their layer (${files} files looked at).`,
  );
  return violations.length === 0 ? 0 : 1;
}

export function typescriptFiles(root: string, folder: string): readonly string[] {
  try {
    return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.[mc]?tsx?$/.test(entry.name))
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
      .filter((file) => !file.includes('node_modules/'))
      .toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function readPackages(root: string): Packages {
  const manifest: Record<string, Record<string, string> | undefined> = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  );
  const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = manifest;
  return {
    shipped: new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]),
    development: new Set(Object.keys(devDependencies)),
  };
}

if (import.meta.main) {
  process.exitCode = run(process.argv[2] ?? path.join(import.meta.dirname, '..'), console.log);
}
