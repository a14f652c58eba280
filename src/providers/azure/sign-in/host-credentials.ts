// Sign-in as the host: the managed identity of an Azure machine, or the user of the Azure CLI.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { runTool } from '../../../host/process/run-tool.ts';
import { readToken } from './client-credentials.ts';
import type { SignInOptions, Token } from './options.ts';

const metadataHost = 'http://169.254.169.254';
/** Outside of Azure there is no answer. */
const metadataMs = 3_000;

export async function managedIdentityToken(
  { env, resource, clock }: SignInOptions,
  signal: AbortSignal,
): Promise<Token> {
  const host = env.AZURE_POD_IDENTITY_AUTHORITY_HOST || metadataHost;
  const url = new URL('/metadata/identity/oauth2/token?api-version=2018-02-01', host);
  url.searchParams.set('resource', resource);
  if (env.AZURE_CLIENT_ID) url.searchParams.set('client_id', env.AZURE_CLIENT_ID);
  let reply: Response;
  try {
    reply = await fetch(url, {
      headers: { metadata: 'true' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(metadataMs)]),
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new ImagoError('provider-sign-in-failed', 'There is no metadata service of Azure here.', { cause });
  }
  return readToken(Buffer.from(await reply.arrayBuffer()), reply.status, clock.now());
}

export async function azToken({ env, resource, clock }: SignInOptions, signal: AbortSignal): Promise<Token> {
  const { HOME, PATH, AZURE_CONFIG_DIR } = env;
  const args = ['account', 'get-access-token', '--resource', resource, '--output', 'json'];
  let said: string;
  try {
    said = (await runTool('az', args, { signal, env: { HOME, PATH, AZURE_CONFIG_DIR } })).stdout.toString();
  } catch (cause) {
    signal.throwIfAborted();
    // What az writes may name the account, so it is not repeated.
    throw new ImagoError(
      'provider-sign-in-failed',
      'The Azure CLI is not installed or not signed in: `az login`.',
      {
        cause: cause instanceof ImagoError ? cause.code : undefined,
      },
    );
  }
  const { accessToken, expires_on: expiresOn } = JSON.parse(said) as {
    readonly accessToken: string;
    readonly expires_on?: number;
  };
  return {
    value: accessToken,
    expiresAt: expiresOn === undefined ? clock.now() + 600_000 : expiresOn * 1000,
  };
}
