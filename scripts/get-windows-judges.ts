// Fetches readers of Windows disks that others wrote (dissect) and a grammar of PowerShell into a cache outside of the
// tree: judges of what Imago reads and writes, and no part of it. A second run is instant.
// Usage: node scripts/get-windows-judges.ts
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureImagoError } from '../src/domain/error/imago-error.ts';
import { withWorkFolder } from '../src/host/files/work-folder.ts';
import { runTool } from '../src/host/process/run-tool.ts';
import { cacheFolders } from '../src/host/tools/tools.ts';
import { machineSettings } from './get-schemas.ts';

const packages = ['dissect.target==3.25.1', 'tree-sitter==0.25.2', 'tree-sitter-powershell==0.26.4'];
/** Raised when what is fetched changes. */
const edition = 'windows-judges-2';

/** A folder of Python packages, for PYTHONPATH. */
export async function fetchWindowsJudges(): Promise<string> {
  const cache = cacheFolders()[0] ?? '';
  const kept = join(cache, 'test', edition);
  if (existsSync(kept)) return kept;
  await mkdir(join(cache, 'test'), { recursive: true });
  return withWorkFolder(join(cache, 'test'), async (work) => {
    const staged = join(work, 'staged');
    const args = ['-m', 'pip', 'install', '--quiet', '--target', staged, ...packages];
    await runTool('python3', args, { folder: work, env: machineSettings() });
    await rename(staged, kept).catch(async (error: unknown) => {
      if (!existsSync(kept)) throw error;
      await rm(staged, { recursive: true });
    });
    return kept;
  });
}

if (process.argv[1] === import.meta.filename) {
  try {
    console.log(`windows judges: ${await fetchWindowsJudges()}`);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    console.error(`get-windows-judges: ${error.message}`);
    process.exit(error.exitCode);
  }
}
