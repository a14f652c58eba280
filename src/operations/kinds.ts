// Every kind of operation, by name.
import type { OperationKind } from '../ports/operation.ts';
import { buildOperation } from './build.ts';
import type { OperationDeps } from './deps.ts';
import { poolCreateOperation } from './pool-create.ts';
import { poolDeleteOperation } from './pool-delete.ts';
import { poolScaleOperation } from './pool-scale.ts';
import { poolSetImageOperation } from './pool-set-image.ts';
import { promoteOperation } from './promote.ts';
import { rollbackChannelOperation } from './rollback-channel.ts';
import { testImageOperation } from './test-image.ts';

export function operationKinds(deps: OperationDeps): ReadonlyMap<string, OperationKind<never>> {
  const kinds = [
    buildOperation(deps),
    testImageOperation(deps),
    promoteOperation(deps),
    rollbackChannelOperation(deps),
    poolCreateOperation(deps),
    poolScaleOperation(deps),
    poolSetImageOperation(deps),
    poolDeleteOperation(deps),
  ];
  return new Map(kinds.map((kind) => [kind.kind, kind as OperationKind<never>]));
}
