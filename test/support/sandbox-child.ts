// A separate process that runs a script in the sandbox as packages run, for tests as another user: node
// sandbox-child.ts JOB, a job in JSON. Its root file system is the host's /usr and a directory to write to. Prints one
// line of JSON: how the run ended, and how many bytes of output were logged.
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultLimits, type SandboxLimits } from '../../src/build/sandbox/limits.ts';
import { findNamespace } from '../../src/build/sandbox/namespace.ts';
import { createSandbox } from '../../src/build/sandbox/sandbox.ts';
import { workMount } from '../../src/build/sandbox/stages.ts';
import { ensureImagoError } from '../../src/domain/error/imago-error.ts';

export interface SandboxJob {
  /** The body of a maintainer script. */
  readonly script: string;
  /** A directory of the caller, in which nothing is left. */
  readonly folder: string;
  readonly limits: Partial<SandboxLimits>;
}

export interface SandboxOutcome {
  readonly logged: number;
  readonly lines: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}

const inOwnRoot = `
root=${workMount}/tree
mkdir -p "$root/usr" "$root/var"
for name in bin sbin lib lib64; do cp -a "/$name" "$root/"; done
mount --bind /usr "$root/usr"
in_root sh -euc "$1"
`;

async function runJob({ script, folder: parent, limits }: SandboxJob): Promise<SandboxOutcome> {
  const folder = await mkdtemp(join(parent, 'work-'));
  await chmod(folder, 0o755);
  const lines: string[] = [];
  let logged = 0;
  const log = (line: string) => {
    logged += line.length;
    lines.push(line.slice(0, 200));
    if (lines.length > 100) lines.shift();
  };
  const sandbox = createSandbox(findNamespace(), { ...defaultLimits, ...limits });
  const run = { what: 'The package', script: inOwnRoot, args: [script], folder, runsPackages: true };
  try {
    await sandbox.run({ ...run, log });
    return { logged, lines };
  } catch (error) {
    const { code, message } = ensureImagoError(error);
    return { logged, lines, error: { code, message } };
  } finally {
    await sandbox.remove(folder);
  }
}

if (process.argv[1] === import.meta.filename) {
  console.log(JSON.stringify(await runJob(JSON.parse(process.argv[2] ?? '{}') as SandboxJob)));
}
