import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkLayers, layers, type Packages, run } from './check-layers.ts';

const packages: Packages = {
  shipped: new Set(['zod', '@hono/node-server']),
  development: new Set(['vitest', '@types/pg', '@azure/arm-compute']),
};

function check(files: Record<string, string>): string[] {
  const { violations } = checkLayers(new Map(Object.entries(files)), packages);
  return violations.map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

describe('imports go down the layers', () => {
  const below: [string, string][] = [
    ['ports', 'domain'],
    ['install', 'domain'],
    ['agent', 'install'],
    ['operations', 'ports'],
    ['operations', 'workflow'],
    ['disk', 'host'],
    ['build', 'disk'],
    ['database', 'ports'],
    ['providers/sim', 'disk'],
    ['api', 'domain'],
    ['cli', 'api'],
    ['web', 'domain'],
    ['cli', 'launcher'],
    ['daemon', 'database'],
    ['daemon', 'providers/sim'],
  ];
  test.each(below)('%s may import %s', (from, to) => {
    const up = '../'.repeat(from.split('/').length);
    expect(check({ [`src/${from}/a.ts`]: `import { b } from '${up}${to}/b.ts';` })).toEqual([]);
  });

  const forbidden: [string, string][] = [
    ['domain', 'ports'],
    ['domain', 'api'],
    ['ports', 'database'],
    ['install', 'ports'],
    ['agent', 'ports'],
    ['operations', 'database'],
    ['operations', 'host'],
    ['disk', 'build'],
    ['build', 'database'],
    ['database', 'workflow'],
    ['workflow', 'database'],
    ['kube', 'providers/azure'],
    ['providers/sim', 'providers/local'],
    ['providers/azure', 'build'],
    ['api', 'ports'],
    ['api', 'daemon'],
    ['cli', 'ports'],
    ['cli', 'daemon'],
    ['web', 'cli'],
    ['daemon', 'cli'],
    ['database', 'daemon'],
  ];
  test.each(forbidden)('%s may not import %s, not even its types', (from, to) => {
    const up = '../'.repeat(from.split('/').length);
    for (const statement of ['import', 'import type', 'export type', 'export']) {
      expect(check({ [`src/${from}/a.ts`]: `// why\n${statement} { b } from '${up}${to}/b.ts';` })).toEqual([
        expect.stringContaining(
          `src/${from}/a.ts:2: ${from} may not import ${to} (src/${to}/b.ts): it imports `,
        ),
      ]);
    }
  });

  test('nor by a lazy import', () => {
    expect(check({ 'src/cli/a.ts': "const b = await import('../daemon/b.ts');" })).toHaveLength(1);
  });

  test('a file and its neighbours are one layer, however deep', () => {
    expect(check({ 'src/cli/commands/a.ts': "import { b } from '../table.ts';" })).toEqual([]);
    expect(check({ 'src/providers/sim/deep/a.ts': "import { b } from '../world.ts';" })).toEqual([]);
  });

  test('only layers of the table exist', () => {
    expect(check({ 'src/helpers/a.ts': '' })).toEqual([expect.stringContaining('stands in no layer')]);
    expect(check({ 'src/main.ts': '' })).toEqual([expect.stringContaining('stands in no layer')]);
    expect(check({ 'src/providers/shared.ts': '' })).toEqual([expect.stringContaining('stands in no layer')]);
  });

  test('and the table names only layers that exist', () => {
    for (const { may } of Object.values(layers)) {
      for (const name of may) expect(Object.keys(layers)).toContain(name);
    }
  });
});

describe('src stands alone', () => {
  test('it does not import test or scripts', () => {
    for (const target of ['test/support/a.ts', 'test/e2e/a.ts', 'scripts/a.ts']) {
      expect(check({ 'src/daemon/a.ts': `import '../../${target}';` })).toEqual([
        expect.stringContaining(`imports ${target}: src stands alone`),
      ]);
    }
  });

  test('a unit test imports test/support, and nothing else outside src', () => {
    expect(check({ 'src/daemon/a.test.ts': "import '../../test/support/a.ts';" })).toEqual([]);
    expect(check({ 'src/daemon/a.test.ts': "import '../../test/e2e/a.ts';" })).toHaveLength(1);
    expect(check({ 'src/daemon/a.test.ts': "import '../../scripts/a.ts';" })).toHaveLength(1);
  });

  test('it does not import a test', () => {
    expect(check({ 'src/domain/a.ts': "import './b.test.ts';" })).toEqual([
      'src/domain/a.ts:1: imports the test src/domain/b.test.ts',
    ]);
  });

  test('of what lies outside it may only read package.json, and domain not even that', () => {
    const source = (file: string) => `import a from '../../${file}' with { type: 'json' };`;
    expect(check({ 'src/cli/a.ts': source('package.json') })).toEqual([]);
    expect(check({ 'src/domain/a.ts': source('package.json') })).toHaveLength(1);
    expect(check({ 'src/cli/a.ts': source('biome.json') })).toHaveLength(1);
  });

  test('every file that it imports is named', () => {
    expect(check({ 'src/cli/a.ts': 'await import(name);' })).toEqual([
      expect.stringContaining('imports a file that is not named in the source'),
    ]);
  });
});

describe('modules of Node', () => {
  test('are not used in domain, and in ports by their types only', () => {
    expect(check({ 'src/domain/a.ts': "import type { Stats } from 'node:fs';" })).toHaveLength(1);
    expect(check({ 'src/ports/a.ts': "import type { Stats } from 'node:fs';" })).toEqual([]);
    expect(check({ 'src/ports/a.ts': "import { stat } from 'node:fs';" })).toEqual([
      'src/ports/a.ts:1: ports may not import node:fs, except its types',
    ]);
    expect(check({ 'src/database/a.ts': "import { stat } from 'node:fs';" })).toEqual([]);
  });

  test('are not used on the node: the agent runs on another engine', () => {
    expect(check({ 'src/agent/a.ts': "import { stat } from 'node:fs';" })).toHaveLength(1);
    expect(check({ 'src/install/a.ts': "import { stat } from 'node:fs';" })).toHaveLength(1);
  });

  test('are written with their prefix', () => {
    expect(check({ 'src/database/a.ts': "import { stat } from 'fs';" })).toEqual([
      'src/database/a.ts:1: writes fs for node:fs',
    ]);
  });
});

describe('packages', () => {
  test('are not used in domain, but for zod', () => {
    expect(check({ 'src/domain/a.ts': "import * as z from 'zod';" })).toEqual([]);
    expect(check({ 'src/domain/a.ts': "import { serve } from '@hono/node-server';" })).toEqual([
      'src/domain/a.ts:1: domain may not import @hono/node-server',
    ]);
  });

  test('are among those that are installed with Imago', () => {
    expect(check({ 'src/daemon/a.ts': "import { serve } from '@hono/node-server/x';" })).toEqual([]);
    expect(check({ 'src/daemon/a.ts': "import { test } from 'vitest';" })).toHaveLength(1);
    expect(check({ 'src/daemon/a.ts': "import left from 'left-pad';" })).toHaveLength(1);
  });

  test('give types also when only developers have them', () => {
    expect(check({ 'src/database/a.ts': "import type { Pool } from 'pg';" })).toEqual([]);
    expect(check({ 'src/database/a.ts': "import type { Disk } from '@azure/arm-compute';" })).toEqual([]);
    expect(check({ 'src/database/a.ts': "import type { Left } from 'left-pad';" })).toHaveLength(1);
  });
});

describe('domain is pure', () => {
  test.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const now = new Date;',
    'const now = Date();',
    'const chance = Math.random();',
    'const home = process.env.HOME;',
    'setTimeout(later, 1);',
    'const id = crypto.randomUUID();',
    "console.log('x');",
    "const bytes = Buffer.from('x');",
    "await fetch('x');",
    'globalThis.x = 1;',
  ])('%s is refused', (source) => {
    expect(check({ 'src/domain/a.ts': `\n${source}` })).toEqual([
      expect.stringMatching(/^src\/domain\/a\.ts:2: domain is pure: .* must be passed in$/),
    ]);
    expect(check({ 'src/daemon/a.ts': source })).toEqual([]);
    expect(check({ 'src/domain/a.test.ts': source })).toEqual([]);
  });

  test.each([
    'const then = new Date(ms);',
    'const then = Date.parse(text);',
    'const then = Date.UTC(2026, 1, 1);',
    'interface Host { readonly process: string; crypto?: string }',
    'const value = record.process;',
    "const text = 'Date.now()'; // Date.now()",
    'function at(time: Date): Date { return time; }',
  ])('%s is not', (source) => {
    expect(check({ 'src/domain/a.ts': source })).toEqual([]);
  });
});

describe('unit tests', () => {
  test('may use other layers, Node and what developers have', () => {
    const source =
      "import '../engine/memory.ts';\nimport 'node:fs';\nimport { test } from 'vitest';\nawait import(name);";
    expect(check({ 'src/operations/a.test.ts': source })).toEqual([]);
  });

  test('may not use a package that is in no list', () => {
    expect(check({ 'src/operations/a.test.ts': "import 'left-pad';" })).toHaveLength(1);
  });
});

describe('nothing loads itself in a circle', () => {
  test('a cycle is shown with its way, where it begins', () => {
    const files = {
      'src/domain/a.ts': "\nimport { b } from './b.ts';",
      'src/domain/b.ts': "import { c } from './c.ts';",
      'src/domain/c.ts': "export * from './a.ts';",
    };
    expect(check(files)).toEqual([
      'src/domain/a.ts:2: loads itself: src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts',
    ]);
  });

  test('also in scripts and tests', () => {
    expect(check({ 'test/a.ts': "import './b.ts';", 'test/b.ts': "import './a.ts';" })).toHaveLength(1);
  });

  test('types do not load, and a lazy import loads later', () => {
    const back = "import { a } from './a.ts';";
    expect(check({ 'src/domain/a.ts': "import type { B } from './b.ts';", 'src/domain/b.ts': back })).toEqual(
      [],
    );
    expect(check({ 'src/cli/a.ts': "const b = () => import('./b.ts');", 'src/cli/b.ts': back })).toEqual([]);
  });
});

describe('the script', () => {
  function project(files: Record<string, string>): { code: number; lines: string[] } {
    const root = mkdtempSync(path.join(tmpdir(), 'imago-layers-'));
    try {
      for (const [file, source] of Object.entries({
        'package.json': '{"dependencies":{"zod":"1"}}',
        ...files,
      })) {
        mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
        writeFileSync(path.join(root, file), source);
      }
      const lines: string[] = [];
      return { code: run(root, (line) => lines.push(line)), lines };
    } finally {
      rmSync(root, { recursive: true });
    }
  }

  test('answers 0 for a project that keeps the rules', () => {
    const { code, lines } = project({
      'src/database/a.ts': "import 'zod';\nimport '../domain/b.ts';",
      'src/domain/b.ts': '',
    });
    expect(code).toBe(0);
    expect(lines).toEqual(['2 files, 2 imports: all within their layers, no cycles.']);
  });

  test('answers 1 and prints file and line for one that does not', () => {
    const { code, lines } = project({ 'src/domain/deep/a.ts': "\n\nimport '../../database/b.ts';" });
    expect(code).toBe(1);
    expect(lines[0]).toMatch(/^src\/domain\/deep\/a\.ts:3: domain may not import database/);
  });
});
