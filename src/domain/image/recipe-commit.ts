// The commit that a recipe was built at: where lineage begins.

export type RecipeCommit = {
  /** The full hash, of sha1 or sha256. */
  readonly commit: string;
  /** What was built is not what that commit holds: something was changed and not committed, or set by a hotfix. */
  readonly dirty: boolean;
};

export const commitPattern: RegExp = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function describeCommit({ commit, dirty }: RecipeCommit): string {
  return dirty ? `${commit} with changes` : commit;
}
