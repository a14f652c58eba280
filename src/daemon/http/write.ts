// Runs a write: once for each idempotency key, and audited before the response. A dry run only plans.
import type { EndpointName } from '../../api/contract/types.ts';
import type { Plan } from '../../api/schemas/common.ts';
import type { Json } from '../../domain/value/json.ts';
import type { StoredAnswer } from '../../ports/database/access.ts';
import type { Log } from '../process/log.ts';
import type { Call, PreparedWrite } from './endpoint/call.ts';
import { claimKey, fingerprintOf, type Settle } from './idempotency.ts';
import { auditDone, auditsDryRun, type RequestContext } from './request-context.ts';
import { jsonResponse } from './response/json-response.ts';

export interface WriteJob {
  readonly incoming: RequestContext;
  readonly call: Call<EndpointName>;
  readonly prepare: (call: Call<EndpointName>) => Promise<PreparedWrite<unknown>>;
  readonly key: string | undefined;
  /** The body as it was sent. */
  readonly bodyText: string;
  readonly log: Log | undefined;
}

export async function performWrite(job: WriteJob): Promise<Response> {
  if (job.incoming.dryRun) return jsonResponse(200, await plan(job));
  const claim = await claimFor(job);
  if ('answer' in claim) {
    const response = jsonResponse(claim.answer.status, claim.answer.body);
    response.headers.set('idempotent-replayed', 'true');
    return response;
  }
  try {
    const { answer, kept, afterwards } = await perform(job);
    await settleQuietly(job, claim.settle, kept);
    afterwards?.();
    return jsonResponse(answer.status, answer.body);
  } catch (thrown) {
    await settleQuietly(job, claim.settle, undefined);
    throw thrown;
  }
}

async function plan({ incoming, call, prepare }: WriteJob): Promise<Plan> {
  const prepared = await prepare(call);
  incoming.subject = prepared.subject;
  const lines = await prepared.plan();
  if (auditsDryRun(incoming))
    await auditDone(call.context.audit, incoming, call.caller, 200, { dryRun: true });
  return { dryRun: true, endpoint: incoming.name, subject: prepared.subject, plan: [...lines] };
}

async function claimFor({ incoming, call, key, bodyText }: WriteJob) {
  if (key === undefined) return { settle: async () => undefined };
  const { pathname, search } = new URL(incoming.request.url);
  return claimKey(call.context.idempotency, {
    key,
    who: call.caller.who,
    fingerprint: fingerprintOf(incoming.request.method, pathname + search, bodyText),
    secret: incoming.endpoint.secret === true,
  });
}

async function perform({ incoming, call, prepare, log }: WriteJob): Promise<{
  readonly answer: StoredAnswer;
  readonly kept: StoredAnswer;
  readonly afterwards?: () => void;
}> {
  const prepared = await prepare(call);
  incoming.subject = prepared.subject;
  if (prepared.before !== undefined) incoming.before = prepared.before;
  const body = (await prepared.run()) as Json;
  const record = prepared.record === undefined ? body : prepared.record(body);
  const { status, secret } = incoming.endpoint;
  await auditDone(call.context.audit, incoming, call.caller, status, record).catch((error: unknown) => {
    if (prepared.replacesDatabase !== true) throw error;
    log?.warn('the audit row could not be written to the restored database', {
      requestId: incoming.requestId,
      error,
    });
  });
  return {
    answer: { status, body },
    kept: { status, body: secret ? record : body },
    ...(prepared.afterwards === undefined ? {} : { afterwards: prepared.afterwards }),
  };
}

/** A key that cannot be settled does not change the result of the write. */
async function settleQuietly(job: WriteJob, settle: Settle, answer: StoredAnswer | undefined): Promise<void> {
  try {
    await settle(answer);
  } catch (error) {
    job.log?.error('an idempotency key could not be settled', { requestId: job.incoming.requestId, error });
  }
}
