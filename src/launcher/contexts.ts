// The servers that the command line knows by name: `contexts.json` in the user's configuration directory. It holds
// tokens, so that only its owner can read it.
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { ImagoError } from '../domain/error/imago-error.ts';
import { writeFileDurably } from '../host/files/durable-files.ts';
import { waitForFileLock } from '../host/files/file-lock.ts';

/** The daemon of this host, which needs no entry. */
export const localContext = 'local';

export interface Context {
  readonly url: string;
  readonly token?: string;
  /** Certificates to trust in addition to those of the system, as PEM. */
  readonly ca?: string;
}

export interface Contexts {
  /** The one that applies without --context. Absent: the daemon of this host. */
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

const lockTimeoutMs = 5000;

function contextsPath(): string {
  const { XDG_CONFIG_HOME: base, HOME } = process.env;
  const folder = base && isAbsolute(base) ? base : join(HOME || homedir(), '.config');
  return join(folder, 'imago', 'contexts.json');
}

export function readContexts(): Contexts {
  const path = contextsPath();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return { contexts: {} };
    throw new ImagoError('file-missing', `Cannot read ${path}: ${(error as Error).message}.`);
  }
  try {
    const read = JSON.parse(text) as Partial<Contexts>;
    return { ...read, contexts: { ...read.contexts } };
  } catch (cause) {
    throw new ImagoError('context-invalid', `${path} is not valid JSON.`, { cause });
  }
}

/** Changes the file under a lock, so that two callers cannot lose each other's change. */
export async function changeContexts(change: (contexts: Contexts) => Contexts): Promise<Contexts> {
  const path = contextsPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = await waitForFileLock(`${path}.lock`, lockTimeoutMs);
  try {
    const after = change(readContexts());
    await writeFileDurably(path, `${JSON.stringify(after, null, 2)}\n`);
    return after;
  } finally {
    lock?.release();
  }
}

export function requireContext({ contexts }: Contexts, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  throw new ImagoError('context-not-found', `There is no context ${name}.`);
}

/**
 * Selects the server of this run by the environment, which everything else reads: `--context`, else `IMAGO_URL` as it
 * is, else `IMAGO_CONTEXT`, else the current context.
 */
export function selectContext(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): void {
  if (flag === undefined && env.IMAGO_URL) return;
  const known = flag || env.IMAGO_CONTEXT ? undefined : readContexts();
  const name = flag || env.IMAGO_CONTEXT || known?.current || localContext;
  if (name === localContext) {
    delete env.IMAGO_URL;
    return;
  }
  const { url, token, ca } = requireContext(known ?? readContexts(), name);
  env.IMAGO_URL = url;
  env.IMAGO_CONTEXT = name;
  for (const [variable, value] of [
    ['IMAGO_TOKEN', token],
    ['IMAGO_CA', ca],
  ] as const) {
    if (value === undefined) delete env[variable];
    else env[variable] = value;
  }
}
