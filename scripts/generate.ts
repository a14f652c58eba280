// Writes the files that are made from code, or with --check says which of them are out of date.
//   node scripts/generate.ts [--check]
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface GeneratedFile {
  /** From the project's root. */
  readonly path: string;
  /** The whole content. The same code gives the same text: no time, no order of a map, no machine. */
  readonly make: () => string | Promise<string>;
}

/** One line for each file. Makers are loaded on demand, so that a broken one does not stop the others. */
const generatedFiles: readonly GeneratedFile[] = [
  {
    path: 'src/api/contract/addresses.generated.ts',
    make: async () => (await import('./client-addresses.ts')).clientAddresses(),
  },
  {
    path: 'src/api/contract/commands.generated.ts',
    make: async () => (await import('./client-addresses.ts')).clientCommands(),
  },
  {
    path: 'docs/architecture.md',
    make: async () => (await import('./architecture-page.ts')).architecturePage(),
  },
  { path: 'docs/errors.md', make: async () => (await import('./errors-page.ts')).errorsPage() },
  {
    path: 'docs/commands.md',
    make: async () => (await import('./command-reference.ts')).commandReference(),
  },
  { path: 'docs/windows.md', make: async () => (await import('./windows-page.ts')).windowsPage() },
  { path: 'docs/checks.md', make: async () => (await import('./checks-page.ts')).checksPage() },
  { path: 'docs/api.md', make: async () => (await import('./api-reference.ts')).apiReference() },
  {
    path: 'docs/openapi.json',
    make: async () =>
      `${JSON.stringify((await import('../src/api/openapi/openapi.ts')).openApiDocument(), null, 2)}\n`,
  },
  {
    path: 'docs/policy.schema.json',
    make: async () =>
      `${JSON.stringify((await import('../src/domain/policy/schema.ts')).policyJsonSchema(), null, 2)}\n`,
  },
  {
    path: 'docs/recipe.schema.json',
    make: async () =>
      `${JSON.stringify((await import('../src/domain/recipe/schema.ts')).recipeJsonSchema(), null, 2)}\n`,
  },
  {
    path: 'docs/node-config.md',
    make: async () => (await import('./node-config-page.ts')).nodeConfigPage(),
  },
  {
    path: 'docs/node-config.schema.json',
    make: async () =>
      `${JSON.stringify((await import('../src/domain/node-config/json-schema.ts')).nodeConfigJsonSchema(), null, 2)}\n`,
  },
];

/** Answers with the exit code: 0 when every file is as its maker says, in the end or, with `check`, already. */
export async function generate(
  root: string,
  files: readonly GeneratedFile[],
  check: boolean,
  print: (line: string) => void,
): Promise<number> {
  let failed = 0;
  for (const file of files) {
    try {
      if (!(await generateOne(root, file, check, print))) failed += 1;
    } catch (error) {
      print(`${file.path}: cannot be made: ${error instanceof Error ? error.message : String(error)}`);
      failed += 1;
    }
  }
  if (failed > 0 && check) print('Run `npm run generate` and commit what changed.');
  return failed === 0 ? 0 : 1;
}

async function generateOne(
  root: string,
  file: GeneratedFile,
  check: boolean,
  print: (line: string) => void,
): Promise<boolean> {
  const target = path.join(root, file.path);
  const made = await file.make();
  const found = await readIfThere(target);
  if (found === made) {
    print(`${file.path}: up to date`);
    return true;
  }
  if (check) {
    print(
      `${file.path}: ${found === undefined ? 'is missing' : `is out of date from line ${firstChange(found, made)}`}`,
    );
    return false;
  }
  await mkdir(path.dirname(target), { recursive: true });
  const beside = `${target}.${process.pid}.new`;
  await writeFile(beside, made);
  await rename(beside, target);
  print(`${file.path}: written`);
  return true;
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function firstChange(found: string, made: string): number {
  const [before, after] = [found.split('\n'), made.split('\n')];
  return before.findIndex((line, index) => line !== after[index]) + 1 || before.length + 1;
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  const unknown = args.filter((arg) => arg !== '--check');
  if (unknown.length > 0) {
    console.error(`No such flag: ${unknown.join(', ')}. Usage: node scripts/generate.ts [--check]`);
    process.exitCode = 2;
  } else {
    const root = path.join(import.meta.dirname, '..');
    process.exitCode = await generate(root, generatedFiles, args.includes('--check'), console.log);
  }
}
