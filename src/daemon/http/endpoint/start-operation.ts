// Starts operations for routes. Validates the request first; the operation does the rest.
import type { EndpointName, OperationEndpoint } from '../../../api/contract/types.ts';
import { type OperationDeclaration, operationRequest } from '../../../domain/operation/declaration.ts';
import { declaredOperations } from '../../../domain/operation-kinds.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { OperationRecord, OperationRequest } from '../../../ports/workflow/operation.ts';
import { personOf } from '../guard/caller.ts';
import { refuseHostFiles } from '../guard/remote-input.ts';
import type { Call, PreparedWrite, WriteHandler } from './call.ts';

type JsonObject = Readonly<Record<string, Json | undefined>>;

export async function startOperation<N extends EndpointName>(
  call: Call<N>,
  declaration: Pick<OperationDeclaration, 'kind' | 'input' | 'subject'>,
  input: object,
): Promise<PreparedWrite<OperationRecord>> {
  const { operations, journal } = call.context;
  const asked = operationRequest(declaration, input);
  if (!call.caller.local) refuseHostFiles(asked.input);
  const options = {
    ...personOf(call.caller),
    whenBusy: call.whenBusy,
    ...(call.operationId !== undefined && { id: call.operationId }),
  };
  const prepared = await operations.prepare({ ...asked, ...options });
  const request: OperationRequest = {
    ...{ ...asked, ...options },
    input: { ...(asked.input as JsonObject), ...prepared.input },
  };
  return {
    subject: asked.subject,
    ...(prepared.before !== undefined && { before: prepared.before }),
    plan: () => operations.plan(request, { preview: true }),
    async run() {
      // If a daemon crashed between starting it and responding, the repeated request gets the first operation.
      const begun = call.operationId === undefined ? undefined : await journal.get(call.operationId);
      if (begun !== undefined) return begun;
      await operations.plan(request);
      return operations.submit(request);
    },
    record: operationTrail,
  };
}

/** The audit's record of an operation: the operation's own record has the rest. */
export function operationTrail({ id, kind, state }: OperationRecord): Json {
  return { operation: id, kind, state };
}

type RouteHandlers = { readonly [N in OperationEndpoint]: WriteHandler<N> };

/** The handlers of the routes of operations. */
export const routeHandlers = handlersFrom(declaredOperations) as RouteHandlers;

/** Returns a handler for each route: the input of the operation is the path, the query, and the body together. */
export function handlersFrom(declarations: readonly OperationDeclaration[]) {
  const handlers = declarations.flatMap((declaration) =>
    Object.entries(declaration.routes).map(([name, { rename = {}, query }]) => [
      name,
      (call: Call<OperationEndpoint>) => {
        const path = Object.entries(call.path ?? {}).map(([field, value]) => [rename[field] ?? field, value]);
        const asked = Object.entries(call.query ?? {}).filter(([field]) => field in (query?.shape ?? {}));
        const input = { ...Object.fromEntries([...path, ...asked]), ...Object(call.body) };
        return startOperation(call, declaration, input);
      },
    ]),
  );
  return Object.fromEntries(handlers) as Readonly<Record<string, WriteHandler<OperationEndpoint>>>;
}
