// Checks who may import whom (scripts/layers.ts) with dependency-cruiser.
//   node scripts/check-layers.ts [DIRECTORY]
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { cruise, getAvailableTranspilers, type ICruiseResult } from 'dependency-cruiser';
import { rules } from './layers.ts';

/** Prints the violations in the project's `src`, and returns the exit code. */
export async function checkLayers(root: string, print: (line: string) => void): Promise<number> {
  // Without a parser, dependency-cruiser finds no imports and reports success.
  if (!getAvailableTranspilers().some(({ name, available }) => name === 'swc' && available)) {
    throw new Error('@swc/core is not installed, or in a version that dependency-cruiser does not support');
  }
  const files = sourceFiles(root);
  if (files.length === 0) throw new Error(`no source files in ${root}`);
  const { output } = await cruise(
    [...files],
    {
      baseDir: root,
      validate: true,
      ruleSet: { forbidden: [...rules] },
      // dependency-cruiser cannot use TypeScript 7. swc reads sources and types, but not `using` in tests.
      parser: 'swc',
      tsPreCompilationDeps: 'specify',
      doNotFollow: { path: 'node_modules/|^(test|scripts)/|\\.test\\.tsx?$' },
    },
    { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  );
  const { modules, summary } = output as ICruiseResult;
  for (const { rule, from, to, cycle } of summary.violations) {
    const way = cycle === undefined ? [to] : cycle.map(({ name }) => name);
    const comment = rules.find(({ name }) => name === rule.name)?.comment ?? '';
    print(`${[from, ...way].join(' → ')}\n  ${rule.name}: ${comment}`);
  }
  const read = new Set(modules.map(({ source }) => source));
  const unread = files.filter((file) => !read.has(file));
  for (const file of unread) print(`${file} was not read`);
  const { totalDependenciesCruised: imports, violations } = summary;
  print(`${files.length} files, ${imports} imports, ${violations.length} violations`);
  return violations.length + unread.length === 0 ? 0 : 1;
}

/** The TypeScript files in `src` that are not tests. */
export function sourceFiles(root: string): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return listed
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
    .filter((file) => existsSync(path.join(root, file)));
}

if (import.meta.main) {
  const root = process.argv[2] ?? path.join(import.meta.dirname, '..');
  process.exitCode = await checkLayers(path.resolve(root), console.log);
}
