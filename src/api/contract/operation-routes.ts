// The endpoints that start operations. Each derives from the declaration of its kind of operation, so there is nothing
// to add here.
import type { OperationDeclaration } from '../../domain/operation/declaration.ts';
import { operation } from '../../domain/operation/record.ts';
import { type Declared, declaredOperations } from '../../domain/operation-kinds.ts';
import { type Address, declare, type EndpointContract, type Tag } from './endpoint.ts';

type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void
  ? I
  : never;
type Routes = Intersection<Declared['routes']>;

interface Common extends Omit<EndpointContract, 'body' | 'bodyOptional' | 'query' | 'response'> {
  readonly effect: 'operation';
  readonly response: typeof operation;
}

/** Every route has its exact types. A tag that does not exist is a type error where the contract is put together. */
type OperationRoutes = { readonly [N in keyof Routes]: Omit<Common, keyof Routes[N]> & Routes[N] };

export const operationRoutes = routesFrom(declaredOperations) as unknown as OperationRoutes;

/** Returns an endpoint for each route: it responds with 202 and the record of the operation. */
export function routesFrom(
  declarations: readonly OperationDeclaration[],
): Readonly<Record<string, EndpointContract>> {
  const routes = declarations.flatMap(({ role, routes }) =>
    Object.entries(routes).map(([name, { address, summary, tag, ...route }]) => [
      name,
      {
        tag: tag as Tag,
        ...declare('operation', address satisfies Address, summary, { ...route, role, response: operation }),
      },
    ]),
  );
  return Object.fromEntries(routes);
}
