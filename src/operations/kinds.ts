// Every kind of operation, by name.
import type { OperationKind } from '../ports/workflow/operation.ts';
import { buildOperation } from './build/build.ts';
import { buildMatrixOperation } from './build/matrix.ts';
import { overridePromoteOperation, promoteOperation } from './channel/promote.ts';
import { rollbackChannelOperation } from './channel/rollback.ts';
import type { OperationDeps } from './common/deps.ts';
import { imagePublishOperation } from './gallery/publish.ts';
import { imageImportOperation } from './image/import.ts';
import { imagePullOperation } from './image/pull.ts';
import { imagePushOperation } from './image/push.ts';
import { imageVerifyOperation } from './image/verify.ts';
import { testImageOperation } from './image-test/test-image.ts';
import { nodeConfigSetOperation } from './node-config/set.ts';
import { poolCreateOperation } from './pool/create.ts';
import { poolDeleteOperation } from './pool/delete.ts';
import { replaceNodesOperation } from './pool/replace-nodes.ts';
import { poolScaleOperation } from './pool/scale.ts';
import { poolSetImageOperation } from './pool/set-image.ts';
import { recipeLockOperation, recipeOutdatedOperation, recipeWhyOperation } from './recipe/queries.ts';
import { releaseMatrixOperation } from './release/matrix.ts';
import { releaseNewerOperation } from './release/newer.ts';
import { releaseOperation } from './release/release.ts';
import { pruneOperation } from './retention/prune.ts';
import { restoreVersionOperation } from './withdrawal/restore.ts';
import { withdrawOperation } from './withdrawal/withdraw.ts';

export function operationKinds(deps: OperationDeps): ReadonlyMap<string, OperationKind<never>> {
  const kinds = [
    buildOperation(deps),
    buildMatrixOperation(deps),
    recipeLockOperation(deps),
    recipeOutdatedOperation(deps),
    recipeWhyOperation(deps),
    imageImportOperation(deps),
    imagePublishOperation(deps),
    imagePullOperation(deps),
    imagePushOperation(deps),
    imageVerifyOperation(deps),
    testImageOperation(deps),
    promoteOperation(deps),
    overridePromoteOperation(deps),
    rollbackChannelOperation(deps),
    releaseOperation(deps),
    releaseMatrixOperation(deps),
    releaseNewerOperation(deps),
    poolCreateOperation(deps),
    poolScaleOperation(deps),
    poolSetImageOperation(deps),
    poolDeleteOperation(deps),
    withdrawOperation(deps),
    restoreVersionOperation(deps),
    replaceNodesOperation(deps),
    pruneOperation(deps),
    nodeConfigSetOperation(deps),
  ];
  return new Map(kinds.map((kind) => [kind.kind, kind as OperationKind<never>]));
}
