// Every kind of operation, by name.
import type { OperationKind } from '../ports/operation.ts';
import { buildOperation } from './build.ts';
import { buildMatrixOperation } from './build-matrix.ts';
import { recipeLockOperation, recipeOutdatedOperation, recipeWhyOperation } from './build-questions.ts';
import type { OperationDeps } from './deps.ts';
import { imageImportOperation } from './image-import.ts';
import { imagePublishOperation } from './image-publish.ts';
import { imagePullOperation } from './image-pull.ts';
import { imagePushOperation } from './image-push.ts';
import { imageVerifyOperation } from './image-verify.ts';
import { nodeConfigSetOperation } from './node-config-set.ts';
import { poolCreateOperation } from './pool-create.ts';
import { poolDeleteOperation } from './pool-delete.ts';
import { poolScaleOperation } from './pool-scale.ts';
import { poolSetImageOperation } from './pool-set-image.ts';
import { overridePromoteOperation, promoteOperation } from './promote.ts';
import { pruneOperation } from './prune.ts';
import { releaseOperation } from './release.ts';
import { releaseMatrixOperation } from './release-matrix.ts';
import { releaseNewerOperation } from './release-newer.ts';
import { replaceNodesOperation } from './replace-nodes.ts';
import { restoreVersionOperation } from './restore-version.ts';
import { rollbackChannelOperation } from './rollback-channel.ts';
import { testImageOperation } from './test-image.ts';
import { withdrawOperation } from './withdraw.ts';

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
