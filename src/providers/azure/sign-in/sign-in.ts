// Signs in to Azure with the first way that is set up, in a fixed order, and keeps the token in memory until shortly
// before it expires. Tokens and secrets are in no log and no error.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { azureSignInWays } from '../../../domain/settings/settings.ts';
import { byAssertion, bySecret, certificateAssertion, githubToken } from './client-credentials.ts';
import { azToken, managedIdentityToken } from './host-credentials.ts';
import type { SignInOptions, SignInWay, Token } from './options.ts';

export interface SignIn {
  token(signal: AbortSignal): Promise<string>;
  /** Signs in and returns the way that worked. */
  check(signal: AbortSignal): Promise<SignInWay>;
}

interface Way {
  /** What is missing before it can be tried; `undefined` if nothing is. */
  readonly missing: string | undefined;
  get(signal: AbortSignal): Promise<Token>;
}

const renewBeforeMs = 5 * 60_000;
const signInMs = 60_000;

export function openSignIn(options: SignInOptions): SignIn {
  const ways = signInOrder(options);
  let known: { readonly way: SignInWay; readonly token: Token } | undefined;
  let signing: Promise<{ readonly way: SignInWay; readonly token: Token }> | undefined;

  async function current(signal: AbortSignal) {
    if (known !== undefined && known.token.expiresAt - renewBeforeMs > options.clock.now()) return known;
    signal.throwIfAborted();
    // Shared by all callers, so that one who leaves takes nobody's token.
    signing ??= trySignIn(ways, options.way, AbortSignal.timeout(signInMs)).finally(() => {
      signing = undefined;
    });
    known = await unlessAborted(signing, signal);
    return known;
  }
  return {
    token: async (signal) => (await current(signal)).token.value,
    check: async (signal) => (await current(signal)).way,
  };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  const leave = () => left.reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

async function trySignIn(
  ways: Readonly<Record<SignInWay, Way>>,
  only: SignInWay | undefined,
  signal: AbortSignal,
): Promise<{ readonly way: SignInWay; readonly token: Token }> {
  const failures: string[] = [];
  for (const way of only === undefined ? azureSignInWays : [only]) {
    const { missing, get } = ways[way];
    if (missing !== undefined) {
      failures.push(`${way}: ${missing}`);
      continue;
    }
    try {
      return { way, token: await get(signal) };
    } catch (thrown) {
      signal.throwIfAborted();
      const { message } = thrown as Error;
      failures.push(`${way}: ${message}`);
      // An identity that is set up on purpose and refused is not replaced by another one.
      if (way !== 'managed' && way !== 'az') break;
    }
  }
  throw new ImagoError('provider-sign-in-failed', `Imago cannot sign in to Azure. ${failures.join(' ')}`, {
    details: { tried: failures },
  });
}

function signInOrder(options: SignInOptions): Readonly<Record<SignInWay, Way>> {
  const { env } = options;
  const need = (...names: readonly string[]) => {
    const absent = names.filter((name) => !env[name]);
    return absent.length === 0 ? undefined : `${absent.join(' and ')} not set.`;
  };
  const identity = ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID'] as const;
  return {
    secret: {
      missing: need(...identity, 'AZURE_CLIENT_SECRET'),
      get: (signal) => bySecret(options, env.AZURE_CLIENT_SECRET ?? '', signal),
    },
    certificate: {
      missing: need(...identity, 'AZURE_CLIENT_CERTIFICATE_PATH'),
      get: async (signal) => byAssertion(options, await certificateAssertion(options), signal),
    },
    workload: {
      missing: need(...identity, 'AZURE_FEDERATED_TOKEN_FILE'),
      async get(signal) {
        const { readFile } = await import('node:fs/promises');
        const file = env.AZURE_FEDERATED_TOKEN_FILE ?? '';
        return byAssertion(options, (await readFile(file, 'utf8')).trim(), signal);
      },
    },
    github: {
      missing: need(...identity, 'ACTIONS_ID_TOKEN_REQUEST_URL', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN'),
      get: async (signal) => byAssertion(options, await githubToken(options, signal), signal),
    },
    managed: { missing: undefined, get: (signal) => managedIdentityToken(options, signal) },
    az: { missing: undefined, get: (signal) => azToken(options, signal) },
  };
}
