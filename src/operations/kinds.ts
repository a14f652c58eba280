// All kinds of operations, by name: every operation that a subject exports.
import type { OperationKind } from '../ports/workflow/operation.ts';
import * as build from './build/operations.ts';
import * as capture from './capture/operations.ts';
import * as captureScheduled from './capture/scheduled.ts';
import * as channel from './channel/operations.ts';
import * as cluster from './cluster/operations.ts';
import type { OperationDeps } from './common/deps.ts';
import type { AnyOperation } from './common/operation.ts';
import * as gallery from './gallery/operations.ts';
import * as image from './image/operations.ts';
import * as imageTest from './image-test/operations.ts';
import * as node from './node/operations.ts';
import * as nodeConfig from './node-config/operations.ts';
import * as pool from './pool/operations.ts';
import * as recipe from './recipe/operations.ts';
import * as release from './release/operations.ts';
import * as retention from './retention/operations.ts';
import * as rollout from './rollout/operations.ts';
import * as withdrawal from './withdrawal/operations.ts';

const exported: readonly unknown[] = [
  ...[build, recipe, image, gallery, imageTest, channel, release, pool, nodeConfig, withdrawal, retention],
  ...[rollout, node, capture, captureScheduled, cluster],
].flatMap((subject) => Object.values(subject));

const allOperations: readonly AnyOperation[] = exported.filter(isOperation);

export function operationKinds(
  deps: OperationDeps,
  operations = allOperations,
): ReadonlyMap<string, OperationKind<never>> {
  return new Map(
    operations.flatMap((operation) => {
      const { kind, formerly = [] } = operation.declaration;
      const opened = operation.open(deps) as OperationKind<never>;
      return [kind, ...formerly].map((name) => [name, opened]);
    }),
  );
}

function isOperation(value: unknown): value is AnyOperation {
  return typeof value === 'object' && value !== null && 'declaration' in value;
}
