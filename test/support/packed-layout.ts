// The package as it looks when installed, without npm: the bundle beside the modules of this project. Quick to
// make, for measures.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface PackedLayout {
  readonly launcher: string;
  remove(): void;
}

const root = resolve(import.meta.dirname, '../..');

export function layOutPacked(): PackedLayout {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root, stdio: 'pipe' });
  const folder = mkdtempSync(join(tmpdir(), 'imago-layout-'));
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    launcher: join(folder, 'bin', 'imago'),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export const sourceLauncher = join(root, 'bin', 'imago');
