// Reads how to reach a cluster from a kubeconfig file, or from the service account of the pod that Imago runs in.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ExecPlugin, execSignIn } from './exec-sign-in.ts';
import { fixedSignIn, type SignIn, tokenFileSignIn } from './sign-in.ts';

export interface Connection {
  readonly server: URL;
  readonly ca?: string | undefined;
  /** The name that the server's certificate must have, if it is not the host of the address. */
  readonly serverName?: string | undefined;
  readonly skipVerify?: boolean | undefined;
  readonly proxyUrl?: string | undefined;
  readonly signIn: SignIn;
}

const text = z.string().min(1).optional();

const clusterSchema = z.object({
  server: z.url({ protocol: /^https?$/ }),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': z.boolean().optional(),
  'proxy-url': text,
});

const execSchema = z.object({
  apiVersion: z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: text,
  provideClusterInfo: z.boolean().optional(),
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).optional(),
});

const userSchema = z.object({
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  exec: execSchema.nullish(),
  'auth-provider': z.unknown().optional(),
});

const named = <T extends z.ZodType>(key: string, schema: T) =>
  z.array(z.object({ name: z.string(), [key]: schema })).nullish();

const kubeconfigSchema = z.object({
  'current-context': text,
  contexts: named('context', z.object({ cluster: z.string(), user: text })),
  clusters: named('cluster', z.unknown()),
  users: named('user', z.unknown()),
});

type Cluster = z.infer<typeof clusterSchema>;
type User = z.infer<typeof userSchema>;

/** Throws `cluster-config-invalid` with the field that is wrong. Defaults to the current context of the file. */
export async function readKubeconfig(path: string, contextName?: string): Promise<Connection> {
  const content = await readFile(path, 'utf8').catch((cause: Error) => {
    throw invalid(path, cause.message, cause);
  });
  const check = <T>(schema: z.ZodType<T>, value: unknown, where: string): T => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw invalid(path, `${[where, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
  };
  const config = check(kubeconfigSchema, parseYaml(path, content), 'kubeconfig');
  const wanted = contextName ?? config['current-context'];
  if (wanted === undefined) throw invalid(path, 'it has no current-context');
  const find = (list: readonly Record<string, unknown>[] | null | undefined, key: string, name: string) => {
    const found = list?.find((entry) => entry.name === name);
    if (found === undefined) throw invalid(path, `it has no ${key} named ${name}`);
    return found[key];
  };
  const context = find(config.contexts, 'context', wanted) as { cluster: string; user?: string };
  const cluster = check(clusterSchema, find(config.clusters, 'cluster', context.cluster), 'cluster');
  const user =
    context.user === undefined
      ? {}
      : check(userSchema, find(config.users, 'user', context.user) ?? {}, 'user');

  const at = (file: string) => (isAbsolute(file) ? file : join(dirname(path), file));
  const load = async (data: string | undefined, file: string | undefined) => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
    if (file === undefined) return undefined;
    return readFile(at(file), 'utf8').catch((cause: Error) => {
      throw invalid(path, cause.message, cause);
    });
  };
  const ca = await load(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const certificate = {
    cert: await load(user['client-certificate-data'], user['client-certificate']),
    key: await load(user['client-key-data'], user['client-key']),
  };
  return {
    ...{ server: new URL(cluster.server), ca, serverName: cluster['tls-server-name'] },
    ...{ skipVerify: cluster['insecure-skip-tls-verify'], proxyUrl: cluster['proxy-url'] },
    signIn: signInOf(path, user, certificate, cluster, ca, at),
  };
}

function signInOf(
  path: string,
  user: User,
  certificate: { readonly cert: string | undefined; readonly key: string | undefined },
  cluster: Cluster,
  ca: string | undefined,
  at: (file: string) => string,
): SignIn {
  if (user['auth-provider'] !== undefined)
    throw invalid(path, 'user.auth-provider is no longer supported by Kubernetes; use user.exec');
  if ((certificate.cert === undefined) !== (certificate.key === undefined))
    throw invalid(path, 'user has only one of client certificate and key');
  if (user.exec) return execSignIn(pluginOf(path, user.exec, cluster, ca, at), certificate);
  if (user.tokenFile !== undefined) return tokenFileSignIn(at(user.tokenFile), certificate);
  const { token, username, password } = user;
  if (token !== undefined) return fixedSignIn({ ...certificate, authorization: `Bearer ${token}` });
  if (username === undefined) return fixedSignIn(certificate);
  const basic = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
  return fixedSignIn({ ...certificate, authorization: `Basic ${basic}` });
}

function pluginOf(
  path: string,
  exec: z.infer<typeof execSchema>,
  cluster: Cluster,
  ca: string | undefined,
  at: (file: string) => string,
): ExecPlugin {
  if (exec.interactiveMode === 'Always')
    throw invalid(path, `user.exec: ${exec.command} needs a terminal (interactiveMode: Always)`);
  return {
    apiVersion: exec.apiVersion,
    // A command with a slash is relative to the file that names it; others are looked up in PATH.
    command: exec.command.includes('/') ? at(exec.command) : exec.command,
    args: exec.args ?? [],
    env: Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
    installHint: exec.installHint,
    cluster:
      exec.provideClusterInfo === true
        ? {
            ...{ server: cluster.server, 'tls-server-name': cluster['tls-server-name'] },
            'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
            'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
            'proxy-url': cluster['proxy-url'],
          }
        : undefined,
  };
}

function parseYaml(path: string, content: string): unknown {
  try {
    return parse(content);
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function invalid(path: string, reason: string, cause?: unknown): ImagoError {
  return new ImagoError('cluster-config-invalid', `The kubeconfig ${path} cannot be used: ${reason}.`, {
    ...(cause === undefined ? {} : { cause }),
  });
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Returns the connection of the pod's service account, or `undefined` outside of a cluster. */
export async function inClusterConnection(
  env: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = accountFolder,
): Promise<Connection | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  const token = join(folder, 'token');
  if (host === undefined || port === undefined || !existsSync(token)) return undefined;
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    server: new URL(`https://${address}:${port}`),
    ca: await readFile(join(folder, 'ca.crt'), 'utf8'),
    signIn: tokenFileSignIn(token),
  };
}
