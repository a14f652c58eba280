// Turns refusals of Azure into errors of Imago. Each names the request, by which Microsoft's support finds it.
import type { IncomingHttpHeaders } from 'node:http';
import { retryAfterMs } from '../../../async/retry.ts';
import type { ErrorCode } from '../../../domain/error/catalog.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';

/** `error` of a reply, or of an operation that failed. */
export interface ArmProblem {
  readonly code: string;
  readonly message: string;
  readonly target?: string;
}

interface Meaning {
  readonly code: ErrorCode;
  readonly retryable?: boolean;
  readonly hint?: string;
}

const busyCodes =
  /^(AnotherOperationInProgress|Conflict|ConflictingUserInput|RetryableError|OperationPreempted|ResourceGroupBeingDeleted|DiskBeingAccessed|ResourceUnderDeletion)$/i;
const busyTexts = /in progress|being (made|deleted|created|updated)|marked for deletion|still being/i;
const rightInText = /perform action '([^']+)'/;

export function readProblem(body: unknown): ArmProblem | undefined {
  const { error } = (body ?? {}) as { readonly error?: Partial<ArmProblem> };
  if (typeof error !== 'object' || error === null) return undefined;
  const { code = 'Unknown', message = 'No reason was given.', target } = error;
  return { code: String(code), message: String(message), ...(target === undefined ? {} : { target }) };
}

export function armError(
  what: string,
  status: number,
  headers: IncomingHttpHeaders,
  problem: ArmProblem = { code: `Status${status}`, message: 'The reply has no error in it.' },
  now = Date.now(),
): ImagoError {
  const { code, retryable, hint } = meaningOf(status, problem);
  const waitMs = retryAfterMs(single(headers['retry-after']), now);
  const requestId = single(headers['x-ms-request-id']) ?? 'none';
  const correlationId = single(headers['x-ms-correlation-request-id']);
  const sentence = problem.message.replace(/\s+/g, ' ').trim();
  return new ImagoError(code, `Azure refused ${what}: ${problem.code}: ${sentence} (request ${requestId})`, {
    ...(retryable === undefined ? {} : { retryable }),
    ...(hint === undefined ? {} : { hint }),
    details: {
      ...{ status, azureCode: problem.code, requestId },
      ...(problem.target === undefined ? {} : { target: problem.target }),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    },
  });
}

function meaningOf(status: number, { code, message }: ArmProblem): Meaning {
  if (status === 429) return { code: 'provider-throttled' };
  if (status === 401) return { code: 'provider-sign-in-failed', hint: signInHint(code) };
  if (status === 403) return forbidden(message);
  if (status === 404) return { code: 'provider-not-found', ...notFoundHint(code) };
  if (/quota/i.test(code) || (code === 'OperationNotAllowed' && /quota|limit/i.test(message))) {
    return { code: 'provider-quota', hint: 'Ask for a higher quota in the portal, or use another region.' };
  }
  if (status === 412) return { code: 'provider-conflict', retryable: false };
  if (status === 409 || /ChangeNotAllowed|CannotDelete/i.test(code)) {
    return { code: 'provider-conflict', retryable: busyCodes.test(code) || busyTexts.test(message) };
  }
  if (status >= 500) return { code: 'provider-failed' };
  if (status >= 400) return { code: 'input-invalid' };
  return { code: 'provider-failed', retryable: /timeout|internal|unavailable/i.test(code) };
}

function forbidden(message: string): Meaning {
  const right = rightInText.exec(message)?.[1];
  const hint =
    right === undefined
      ? 'Compare the role of the identity with `imago azure roles`.'
      : `The identity lacks the right ${right}: grant it with a role of \`imago azure roles\`.`;
  return { code: 'provider-forbidden', hint };
}

function signInHint(code: string): string {
  if (/Tenant/i.test(code)) return 'The subscription belongs to another tenant: check AZURE_TENANT_ID.';
  return 'Check the credentials with `imago doctor`.';
}

function notFoundHint(code: string): { readonly hint?: string } {
  if (code === 'SubscriptionNotFound') return { hint: 'Check the setting azure-subscription.' };
  if (code === 'ResourceGroupNotFound') {
    return { hint: 'Create the resource group with `az group create`, or check azure-resource-group.' };
  }
  return {};
}

export function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
