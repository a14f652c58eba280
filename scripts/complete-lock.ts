// Completes package-lock.json with the optional packages of other platforms. npm omits those that the registry at hand
// does not have, and then `npm ci` refuses the lock everywhere. Run it after a change of dependencies.
// Usage: node scripts/complete-lock.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface PackageLock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const processors = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
];

/** Returns an entry for each optional package that the lock refers to by an exact version and does not list. */
export function missingPackages({ packages }: PackageLock): Readonly<Record<string, LockedPackage>> {
  const missing: Record<string, LockedPackage> = {};
  for (const [path, parent] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`];
      if (places.some((place) => packages[place] !== undefined) || !/^\d+\.\d+\.\d+/.test(version)) continue;
      const words = name.split(/[/-]/);
      const [os, cpu] = [systems, processors].map((known) => known.filter((word) => words.includes(word)));
      missing[`node_modules/${name}`] = {
        version,
        ...(cpu?.length ? { cpu } : {}),
        ...(parent.dev === true ? { dev: true } : {}),
        optional: true,
        ...(os?.length ? { os } : {}),
      };
    }
  }
  return missing;
}

if (import.meta.main) {
  const path = resolve(import.meta.dirname, '../package-lock.json');
  const lock = JSON.parse(readFileSync(path, 'utf8')) as PackageLock;
  const missing = missingPackages(lock);
  const names = Object.keys(missing);
  const packages = Object.entries({ ...lock.packages, ...missing }).toSorted(([a], [b]) =>
    a.localeCompare(b, 'en'),
  );
  if (names.length > 0)
    writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`);
  console.log(names.length === 0 ? 'package-lock.json is complete' : `added ${names.join(', ')}`);
}
