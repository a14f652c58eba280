// Asks whether the npm registry answers a request for known advisories: some mirrors do not, and then no one knows
// whether the lock file has any. ./check reports that instead of passing.
import { execFile } from 'node:child_process';

/** Returns the output of `npm audit --json`, whatever its exit code. */
function npmAudit(): Promise<string> {
  return new Promise((resolve) => {
    execFile(
      'npm',
      ['audit', '--json', '--loglevel=silent'],
      { timeout: 60_000, maxBuffer: 1 << 26 },
      (error, stdout) =>
        resolve(stdout === '' ? JSON.stringify({ message: error?.message ?? 'no output' }) : stdout),
    );
  });
}

/** Returns why no advisories are known; `undefined` if the registry answered. Names no host: it may be private. */
export async function advisoriesUnknown(ask: () => Promise<string> = npmAudit): Promise<string | undefined> {
  const text = await ask();
  try {
    const report = JSON.parse(text) as { readonly vulnerabilities?: object; readonly message?: string };
    if (report.vulnerabilities !== undefined) return undefined;
    const status = /^\d{3} [A-Za-z ]+/.exec(report.message ?? '')?.[0].trim();
    return `the registry does not answer for advisories${status === undefined ? '' : ` (${status})`}`;
  } catch {
    return 'the output of `npm audit` cannot be read';
  }
}
