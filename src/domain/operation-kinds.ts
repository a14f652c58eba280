// All kinds of operations: every declaration that a subject exports.
import type { Role } from './access/roles.ts';
import * as build from './build/operations.ts';
import * as capture from './capture/operations.ts';
import * as cluster from './cluster/operations.ts';
import * as gallery from './gallery/operations.ts';
import * as image from './image/operations.ts';
import * as imageTest from './image-test/operations.ts';
import * as node from './node/operations.ts';
import * as nodeConfig from './node-config/operations.ts';
import type { OperationDeclaration } from './operation/declaration.ts';
import * as pool from './pool/operations.ts';
import * as promotion from './promotion/operations.ts';
import * as recipe from './recipe/operations.ts';
import * as release from './release/operations.ts';
import * as retention from './retention/operations.ts';
import * as rollout from './rollout/operations.ts';
import * as withdrawal from './withdrawal/operations.ts';

const exported = {
  ...{ ...build, ...capture, ...cluster, ...gallery, ...image, ...imageTest, ...node, ...nodeConfig },
  ...{ ...pool, ...promotion, ...recipe, ...release, ...retention, ...rollout, ...withdrawal },
};

// biome-ignore lint/suspicious/noExplicitAny: declarations of all kinds
type AnyDeclaration = OperationDeclaration<string, any, any>;
type Exported = (typeof exported)[keyof typeof exported];
export type Declared = Extract<Exported, AnyDeclaration>;

const values: readonly unknown[] = Object.values(exported);
export const declaredOperations: readonly OperationDeclaration[] = values.filter(isDeclaration);

export const kindNames: readonly string[] = declaredOperations.map(({ kind }) => kind);

/**
 * Returns the role that a kind of operation needs, however it is started: through its route, by a schedule, or by a
 * retry. An unknown kind needs `admin`.
 */
export function roleOfKind(kind: string, declarations = declaredOperations): Role {
  const found = declarations.find((known) => known.kind === kind || known.formerly?.includes(kind));
  return found?.role ?? 'admin';
}

function isDeclaration(value: unknown): value is OperationDeclaration {
  return typeof value === 'object' && value !== null && 'kind' in value && 'routes' in value;
}
