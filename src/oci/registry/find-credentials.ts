// How this machine signs in to a registry: by the files that `docker login`, `podman login`, `skopeo login` and
// `oras login` write, and by the helpers that they name. Nothing is kept.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import type { Credentials } from './auth.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const authFile = z.looseObject({
  auths: z
    .record(z.string(), z.looseObject({ auth: z.string().optional(), registrytoken: z.string().optional() }))
    .optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
  credsStore: z.string().optional(),
});

const helperAnswer = z.looseObject({ Username: z.string(), Secret: z.string() });
const helperMs = 30_000;

/** `undefined` when no file knows the registry: then it is asked without. `registry-denied` for a broken helper. */
export async function findCredentials(
  registry: string,
  env: Environment = process.env,
): Promise<Credentials | undefined> {
  for (const path of authFiles(env)) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    const found = text === undefined ? undefined : await inFile(text, path, registry, env);
    if (found !== undefined) return found;
  }
  return undefined;
}

function authFiles(env: Environment): readonly string[] {
  const home = env.HOME ?? homedir();
  return [
    ...(env.REGISTRY_AUTH_FILE ? [env.REGISTRY_AUTH_FILE] : []),
    ...(env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, 'containers', 'auth.json')] : []),
    join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'containers', 'auth.json'),
    join(env.DOCKER_CONFIG ?? join(home, '.docker'), 'config.json'),
  ];
}

async function inFile(
  text: string,
  path: string,
  registry: string,
  env: Environment,
): Promise<Credentials | undefined> {
  const { auths = {}, credHelpers = {}, credsStore } = parse(text, path);
  const helper = credHelpers[registry] ?? (auths[registry] === undefined ? undefined : credsStore);
  if (helper !== undefined) return askHelper(helper, registry, env);
  const [, entry] = Object.entries(auths).find(([name]) => hostOf(name) === registry) ?? [];
  if (entry?.registrytoken !== undefined) return { token: entry.registrytoken };
  const plain = Buffer.from(entry?.auth ?? '', 'base64').toString('utf8');
  const colon = plain.indexOf(':');
  return colon < 1 ? undefined : { username: plain.slice(0, colon), password: plain.slice(colon + 1) };
}

function parse(text: string, path: string): z.infer<typeof authFile> {
  try {
    return authFile.parse(JSON.parse(text));
  } catch {
    throw new ImagoError(
      'registry-denied',
      `${path} cannot be read: it is not a file of signed-in registries.`,
    );
  }
}

/** Old files name registries by whole addresses. */
function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

async function askHelper(
  helper: string,
  registry: string,
  env: Environment,
): Promise<Credentials | undefined> {
  if (!/^[\w.-]+$/.test(helper)) throw broken(helper, 'its name is not that of a program');
  async function* input() {
    yield Buffer.from(registry);
  }
  const options = { stdin: input(), env, accept: [0, 1], signal: AbortSignal.timeout(helperMs) };
  const { exitCode, stdout } = await runTool(`docker-credential-${helper}`, ['get'], options).catch(
    (error) => {
      throw broken(helper, error.code === 'tool-missing' ? 'it cannot be started' : 'it did not finish');
    },
  );
  const out = stdout.toString('utf8');
  if (/not found/i.test(out)) return undefined;
  const answer = exitCode === 0 ? helperAnswer.safeParse(safeJson(out)) : undefined;
  if (answer?.success !== true) throw broken(helper, 'its answer makes no sense');
  const { Username: username, Secret: password } = answer.data;
  return username === '<token>' ? { token: password } : { username, password };
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function broken(helper: string, why: string): ImagoError {
  return new ImagoError('registry-denied', `The sign-in helper docker-credential-${helper} failed: ${why}.`);
}
