// Routes that start an operation: what would be refused is refused at once, the rest is the operation's.
import type { EndpointName } from '../../../api/contract/types.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { OperationRecord, OperationRequest } from '../../../ports/workflow/operation.ts';
import { personOf } from '../guard/caller.ts';
import { refuseHostFiles } from '../guard/remote-input.ts';
import type { Call, PreparedWrite } from './call.ts';

type Asked = Pick<OperationRequest, 'kind' | 'subject' | 'input'> & { readonly before?: Json };

export function startOperation<N extends EndpointName>(
  call: Call<N>,
  { before, ...asked }: Asked,
): PreparedWrite<OperationRecord> {
  const { operations, journal } = call.context;
  if (!call.caller.local) refuseHostFiles(asked.input);
  const request: OperationRequest = {
    ...asked,
    ...personOf(call.caller),
    whenBusy: call.whenBusy,
    ...(call.operationId === undefined ? {} : { id: call.operationId }),
  };
  return {
    subject: asked.subject,
    ...(before === undefined ? {} : { before }),
    plan: () => operations.foresee(request),
    async run() {
      // A daemon died between starting it and answering: the repeated request gets what the first one began.
      const begun = call.operationId === undefined ? undefined : await journal.get(call.operationId);
      if (begun !== undefined) return begun;
      await operations.plan(request);
      return operations.submit(request);
    },
    record: operationTrail,
  };
}

/** What the audit keeps of an operation: its record has the rest. */
export function operationTrail({ id, kind, state }: OperationRecord): Json {
  return { operation: id, kind, state };
}
