// The commit that a recipe was built at: where lineage begins.

export type RecipeCommit = {
  /** The full hash, of sha1 or sha256. */
  readonly commit: string;
  /** What was built is not what that commit holds: something was changed and not committed, or set by a hotfix. */
  readonly dirty: boolean;
};

/** The overlay that the flag of this name adds. If it changes a recipe, the recipe differs from its commit. */
export const kubernetesOverlay = '--kubernetes';

export const commitPattern: RegExp = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function describeCommit({ commit, dirty }: RecipeCommit): string {
  return dirty ? `${commit} with changes` : commit;
}
