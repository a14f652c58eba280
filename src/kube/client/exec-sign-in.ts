// Gets credentials from a program that the kubeconfig names, by client-go's protocol: the request is in the variable
// KUBERNETES_EXEC_INFO, and the response on standard output.
import { z } from 'zod';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { runTool } from '../../host/process/run-tool.ts';
import type { Credentials, SignIn } from './sign-in.ts';

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  /** What the program is sent about the cluster, if it requests it. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
}

const responseSchema = z.object({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z.object({
    token: z.string().min(1).optional(),
    clientCertificateData: z.string().min(1).optional(),
    clientKeyData: z.string().min(1).optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

const maxOutput = 1024 * 1024;

/** Runs the program once, and again when its credentials have expired or the server rejects them. */
export function execSignIn(
  plugin: ExecPlugin,
  certificate: Credentials,
  now: () => number = Date.now,
): SignIn {
  let known: { readonly credentials: Promise<Credentials>; expiresAt: number } | undefined;

  async function run(): Promise<{ readonly credentials: Credentials; readonly expiresAt: number }> {
    const { status } = await ask(plugin);
    const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
    if (token === undefined && (cert === undefined || key === undefined))
      throw failed(plugin, 'it returned neither a token nor a certificate with its key');
    return {
      credentials: {
        ...(cert === undefined || key === undefined ? certificate : { cert, key }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      expiresAt:
        expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp),
    };
  }

  return {
    get() {
      if (known !== undefined && now() < known.expiresAt) return known.credentials;
      // Concurrent callers share one run, which therefore no caller's signal ends.
      const result = run();
      const entry = {
        credentials: result.then(({ credentials }) => credentials),
        expiresAt: Number.POSITIVE_INFINITY,
      };
      known = entry;
      result.then(
        ({ expiresAt }) => {
          entry.expiresAt = expiresAt;
        },
        () => {
          if (known === entry) known = undefined;
        },
      );
      return entry.credentials;
    },
    renew() {
      known = undefined;
      return true;
    },
  };
}

async function ask(plugin: ExecPlugin): Promise<z.infer<typeof responseSchema>> {
  const { apiVersion, cluster } = plugin;
  const request = { apiVersion, kind: 'ExecCredential', spec: { cluster, interactive: false } };
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const { stdout } = await runTool(plugin.command, plugin.args, {
    env: {
      ...Object.fromEntries(inherited),
      ...plugin.env,
      KUBERNETES_EXEC_INFO: JSON.stringify(request),
    },
    maxOutput,
    signal: AbortSignal.timeout(60_000),
  }).catch((cause: unknown) => {
    const { code, message } = ensureImagoError(cause);
    throw failed(plugin, message, code === 'tool-missing' ? plugin.installHint : undefined, cause);
  });
  const parsed = responseSchema.safeParse(parseJson(stdout.toString('utf8')));
  // The response holds secrets: the message names its fields only.
  if (!parsed.success)
    throw failed(plugin, `its response is invalid at ${parsed.error.issues[0]?.path.join('.')}`);
  if (parsed.data.apiVersion !== apiVersion)
    throw failed(plugin, `it responded with ${parsed.data.apiVersion} instead of ${apiVersion}`);
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failed({ command }: ExecPlugin, reason: string, hint?: string, cause?: unknown): ImagoError {
  return new ImagoError('cluster-unauthorized', `The sign-in program ${command} failed: ${reason}.`, {
    ...(hint === undefined ? {} : { hint }),
    ...(cause === undefined ? {} : { cause }),
  });
}
