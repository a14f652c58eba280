// Fetches the official schemas of CycloneDX and SPDX, and a validator, into a cache outside of the tree: judges of
// what Imago writes, and no part of it. A second run is instant. Usage: node scripts/get-schemas.ts
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureImagoError } from '../src/domain/error/imago-error.ts';
import { withWorkFolder } from '../src/host/files/work-folder.ts';
import { runTool } from '../src/host/process/run-tool.ts';
import { cacheFolders } from '../src/host/tools/tools.ts';

const cycloneDx = '@cyclonedx/cyclonedx-library@10.3.0';
const spdx = 'lib4sbom==0.10.4';
const validator = ['ajv@8.20.0', 'ajv-formats@3.0.1'];
/** Raised when what is fetched changes. */
const edition = 'schemas-1';

/** A folder with `node_modules/ajv` and `ajv-formats`, `cyclonedx/` and `spdx/2.3-schema.json`. */
export function fetchSchemas(): Promise<string> {
  return fetchOnce(edition, async (staged, work) => {
    await mkdir(join(staged, 'spdx'), { recursive: true });
    const run = (program: string, args: readonly string[]) =>
      runTool(program, args, { folder: work, env: machineSettings() });
    await writeFile(join(staged, 'package.json'), '{ "private": true }\n');
    await run('npm', ['install', '--silent', '--ignore-scripts', '--prefix', staged, ...validator]);
    await run('npm', ['pack', '--silent', cycloneDx]);
    await run('tar', ['-xzf', await only(work, '.tgz')]);
    await cp(join(work, 'package', 'res', 'schema'), join(staged, 'cyclonedx'), { recursive: true });
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', work, spdx]);
    await run('python3', ['-m', 'zipfile', '-e', await only(work, '.whl'), join(work, 'wheel')]);
    await cp(
      join(work, 'wheel', 'lib4sbom', 'schemas', 'spdx', '2.3-schema.json'),
      join(staged, 'spdx', '2.3-schema.json'),
    );
  });
}

/** Fetches into a cache outside of the tree, unless this edition is there. Two callers at a time both succeed. */
export async function fetchOnce(
  edition: string,
  fetchInto: (staged: string, work: string) => Promise<void>,
): Promise<string> {
  const cache = join(cacheFolders()[0] ?? '', 'test');
  const kept = join(cache, edition);
  if (existsSync(kept)) return kept;
  await mkdir(cache, { recursive: true });
  return withWorkFolder(cache, async (work) => {
    const staged = join(work, 'staged');
    await fetchInto(staged, work);
    await rename(staged, kept).catch(async (error: unknown) => {
      if (!existsSync(kept)) throw error;
      await rm(staged, { recursive: true });
    });
    return kept;
  });
}

/** Fetches as a command of its own. */
export async function reportFetch(what: string, fetch: () => Promise<string>): Promise<void> {
  try {
    console.log(`${what}: ${await fetch()}`);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    console.error(`${what}: ${error.message}`);
    process.exit(error.exitCode);
  }
}

/** The machine's own settings say where packages come from. */
export function machineSettings(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function only(folder: string, ending: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => file.endsWith(ending));
  if (name === undefined) throw new Error(`no file ${ending} was fetched`);
  return join(folder, name);
}

if (process.argv[1] === import.meta.filename) await reportFetch('schemas', fetchSchemas);
