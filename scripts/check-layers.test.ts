import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patience } from '../test/support/speed.ts';
import { checkLayers } from './check-layers.ts';

const project = path.join(import.meta.dirname, '..');

/** One file for each kind of violation, with the rule that must report it. */
const faults: readonly (readonly [rule: string, file: string, source: string])[] = [
  ['layer-ports', 'src/ports/by-value.ts', "import { open } from '../database/open-database.ts';\nopen;"],
  ['layer-ports', 'src/ports/by-type.ts', "import type { Store } from '../database/open-database.ts';"],
  ['layer-ports', 'src/ports/re-exported.ts', "export type { Store } from '../database/open-database.ts';"],
  ['layer-cli', 'src/cli/by-call.ts', "await import('../daemon/down.ts');"],
  ['layer-providers-sim', 'src/providers/sim/other.ts', "import '../local/provider.ts';"],
  ['face-disk', 'src/oci/inside.ts', "import '../disk/vhd/writer.ts';"],
  ['face-daemon', 'src/pages/closed.ts', "import '../daemon/down.ts';"],
  ['known-room', 'src/attic/new.ts', "import '../domain/error/imago-error.ts';"],
  ['builtins-domain', 'src/domain/builtin.ts', "import { join } from 'node:path';\njoin;"],
  ['builtins-agent', 'src/agent/builtin.ts', "import type { Stats } from 'node:fs';"],
  ['builtins-ports', 'src/ports/builtin.ts', "import { join } from 'node:path';\njoin;"],
  ['packages-domain', 'src/domain/package.ts', "import 'hono';"],
  ['packages-ports', 'src/ports/package.ts', "import 'hono';"],
  ['packages-agent', 'src/agent/package.ts', "import 'zod';"],
  ['agent-without-zod', 'src/agent/main.ts', "import '../domain/recipe/schema.ts';"],
  ['shipped-packages', 'src/daemon/development.ts', "import 'fast-check';"],
  ['public-interfaces', 'src/workflow/internal.ts', "import '@dbos-inc/dbos-sdk/internal/system_database';"],
  ['src-stands-alone', 'src/host/script.ts', "import '../../scripts/layers.ts';"],
  ['src-stands-alone', 'src/host/test.ts', "import './system-clock.test.ts';"],
  ['resolvable', 'src/host/missing.ts', "import './not-there.ts';"],
  ['no-cycles', 'src/host/cycle-a.ts', "import type { B } from './cycle-b.ts';\nexport type A = B;"],
  [
    'no-directory-cycles',
    'src/host/files/up.ts',
    "import type { U } from '../process/up.ts';\nexport type T = U;",
  ],
  ['no-orphans', 'src/host/orphan.ts', 'export const orphan = 1;'],
];

/** What the faults need on the other side, and no violation itself. */
const partners: Readonly<Record<string, string>> = {
  'src/host/cycle-b.ts': "import type { A } from './cycle-a.ts';\nexport type B = A | 1;",
  'src/host/process/up.ts': 'export type U = 1;',
  'src/host/process/down.ts': "import type { V } from '../files/down.ts';\nexport type W = V;",
  'src/host/files/down.ts': 'export type V = 1;',
  'src/ports/allowed.ts':
    "import type { Stats } from 'node:fs';\nimport type { Pool } from 'pg';\nexport type S = Stats | Pool;",
};

let copy: string;
const lines: string[] = [];
let exitCode: number;

beforeAll(async () => {
  copy = mkdtempSync(path.join(tmpdir(), 'imago-layers-'));
  for (const name of ['src', 'scripts', 'package.json']) {
    cpSync(path.join(project, name), path.join(copy, name), { recursive: true });
  }
  symlinkSync(path.join(project, 'node_modules'), path.join(copy, 'node_modules'));
  writeFileSync(path.join(copy, '.gitignore'), 'node_modules\n');
  execFileSync('git', ['init', '-q'], { cwd: copy });
  for (const [file, source] of [...faults.map(([, ...rest]) => rest), ...Object.entries(partners)]) {
    const place = path.join(copy, file as string);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, `${source}\n`, { flag: file === 'src/agent/main.ts' ? 'a' : 'wx' });
  }
  exitCode = await checkLayers(copy, (line) => lines.push(line));
}, patience(120_000));

afterAll(() => rmSync(copy, { recursive: true, force: true }));

test('a project with violations fails', () => {
  expect(exitCode).toBe(1);
});

test.each(faults)('%s is reported for %s', (rule, file) => {
  const from = rule === 'no-directory-cycles' ? path.dirname(file) : file;
  const found = lines.filter((line) => line.startsWith(`${from} → `) || line.startsWith(`${from}\n`));
  expect(found.filter((line) => line.includes(`\n  ${rule}: `))).not.toEqual([]);
});

test('types of Node and of packages are allowed in ports', () => {
  expect(
    lines.filter((line) => line.startsWith('src/ports/allowed.ts') && !line.includes('orphans')),
  ).toEqual([]);
});

test('every file is read', () => {
  expect(lines.filter((line) => line.endsWith('was not read'))).toEqual([]);
  expect(Number(lines.at(-1)?.match(/^(\d+) files/)?.[1])).toBeGreaterThan(1000);
});

test(
  'biome reports impure code in domain',
  () => {
    cpSync(path.join(project, 'biome.json'), path.join(copy, 'biome.json'));
    const impure = [
      'Date.now()',
      'new Date()',
      'Date()',
      'Math.random()',
      'process.pid',
      'setTimeout(print, 1)',
    ];
    const pure = ['new Date(5)', 'Date.parse(text)', '{ process: 1 }'];
    for (const [index, code] of [...impure, ...pure].entries()) {
      writeFileSync(path.join(copy, 'src/domain', `code-${index}.ts`), `export const value = ${code};\n`);
    }
    const { stdout } = spawnSync(
      path.join(project, 'node_modules/.bin/biome'),
      ['lint', '--reporter=github', 'src/domain'],
      { cwd: copy, encoding: 'utf8' },
    );
    const found = [...stdout.matchAll(/src\/domain\/code-(\d+)\.ts/g)].map(([, index]) => Number(index));
    expect([...new Set(found)].toSorted()).toEqual(impure.map((_, index) => index));
  },
  patience(60_000),
);

test('without sources nothing is reported as checked', async () => {
  const empty = mkdtempSync(path.join(tmpdir(), 'imago-layers-'));
  try {
    execFileSync('git', ['init', '-q'], { cwd: empty });
    await expect(checkLayers(empty, () => undefined)).rejects.toThrow('no source');
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
});
