// Fetches readers of Windows disks that others wrote (dissect) and a grammar of PowerShell: judges of what Imago reads
// and writes, and no part of it. Usage: node scripts/get-windows-judges.ts
import { runTool } from '../src/host/process/run-tool.ts';
import { fetchOnce, machineSettings, reportFetch } from './get-schemas.ts';

const packages = ['dissect.target==3.25.1', 'tree-sitter==0.25.2', 'tree-sitter-powershell==0.26.4'];
/** Raised when what is fetched changes. */
const edition = 'windows-judges-2';

/** A folder of Python packages, for PYTHONPATH. */
export function fetchWindowsJudges(): Promise<string> {
  return fetchOnce(edition, async (staged, work) => {
    const args = ['-m', 'pip', 'install', '--quiet', '--target', staged, ...packages];
    await runTool('python3', args, { folder: work, env: machineSettings() });
  });
}

if (process.argv[1] === import.meta.filename) await reportFetch('windows judges', fetchWindowsJudges);
