// The package as users get it: packed, and installed by npm into an empty folder, with whatever old `node`
// this machine has.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { collect, type Finished } from './imago.ts';

export interface Packed {
  /** The folder that npm installed into; every user may look into it. */
  readonly app: string;
  /** A folder that goes away with it. */
  readonly folder: string;
  /** The names of all files in the packed file. */
  readonly files: readonly string[];
  /** The PATH of a shell that knows nothing of this project. */
  readonly path: string;
  readonly imago: string;
  remove(): void;
}

export interface Person {
  /** As another user; needs root. */
  readonly uid?: number;
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '../..');

export function installPacked(): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'imago-packed-'));
  chmodSync(folder, 0o755);
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((part) => !part.includes('node_modules'))
    .join(delimiter);
  const npm = (cwd: string, ...words: readonly string[]): string =>
    execFileSync('npm', words, { cwd, encoding: 'utf8', env: { ...process.env, PATH: path }, stdio: 'pipe' });

  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, stdio: 'pipe' });
  const [packed] = JSON.parse(
    npm(root, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  ) as [{ readonly filename: string; readonly files: readonly { readonly path: string }[] }];
  const app = join(folder, 'an äpp');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"private":true}');
  npm(app, 'install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, packed.filename));
  return {
    app,
    folder,
    files: packed.files.map((file) => file.path),
    path,
    imago: join(app, 'node_modules', '.bin', 'imago'),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Runs the installed command as somebody whose environment holds nothing but their home. */
export function runAs({ imago, path }: Packed, person: Person, words: readonly string[]): Promise<Finished> {
  return collect(
    spawn(imago, words, {
      ...(person.uid === undefined ? {} : { uid: person.uid, gid: person.uid }),
      cwd: '/',
      env: { PATH: path, HOME: person.home, NO_COLOR: '1', ...person.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}
