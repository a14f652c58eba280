// Which role an operation needs, also when it is started by a schedule, tried again, cancelled or answered:
// nobody may do in a roundabout way what they may not do at once.
import { contract } from '../../../api/contract/contract.ts';
import type { Role } from '../../../domain/access/roles.ts';

const rolesByKind: Readonly<Record<string, Role>> = {
  build: contract.createBuild.role,
  'build-matrix': contract.createBuild.role,
  'recipe-lock': contract.lockRecipe.role,
  'recipe-outdated': contract.findOutdated.role,
  'recipe-why': contract.explainRebuild.role,
  'image-import': contract.importImage.role,
  'image-publish': contract.publishImage.role,
  'image-pull': contract.pullImage.role,
  'image-push': contract.pushImage.role,
  'image-verify': contract.verifyImage.role,
  test: contract.createTest.role,
  promote: contract.promote.role,
  'promote-override': contract.overridePromote.role,
  'rollback-channel': contract.rollbackChannel.role,
  release: contract.createRelease.role,
  'release-matrix': contract.createRelease.role,
  'release-newer': contract.createRelease.role,
  withdraw: contract.withdrawVersion.role,
  'restore-version': contract.restoreVersion.role,
  prune: contract.prune.role,
  'replace-nodes': contract.setPoolImage.role,
  'pool-create': contract.createPool.role,
  'pool-scale': contract.scalePool.role,
  'pool-set-image': contract.setPoolImage.role,
  'pool-delete': contract.deletePool.role,
  'node-config-set': contract.setPoolConfig.role,
};

export const knownKinds: readonly string[] = Object.keys(rolesByKind);

/** Kinds without an endpoint of their own are for admins. */
export function roleOfKind(kind: string): Role {
  return Object.hasOwn(rolesByKind, kind) ? (rolesByKind[kind] ?? 'admin') : 'admin';
}
