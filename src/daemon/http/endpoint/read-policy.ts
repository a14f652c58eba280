// Reads a policy from text. Reports every error with its line and column, and an unknown gate with the nearest one.
import { createHash } from 'node:crypto';
import { schemaProblems } from '../../../document/schema-problems.ts';
import { parseYamlTree, toValue, treeAt } from '../../../document/yaml-tree.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import { policyFile, toPolicy } from '../../../domain/policy/schema.ts';
import { canonicalJson } from '../../../domain/value/canonical-json.ts';
import type { Json } from '../../../domain/value/json.ts';

export interface ReadPolicy {
  readonly policy: Policy;
  /** Digest of the content, regardless of comments and order. */
  readonly digest: string;
}

/** Throws `policy-invalid`, with all errors in the details. */
export function readPolicy(text: string, file = 'policy'): ReadPolicy {
  const tree = parseTree(text, file);
  const value = toValue(tree) ?? {};
  const checked = policyFile.safeParse(value);
  if (!checked.success) {
    const problems = schemaProblems(policyFile, checked.error.issues, value).map(({ path, ...problem }) => {
      const { line, column } = treeAt(tree, path).origin;
      return { path: path.join('.'), line, column, ...problem };
    });
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    throw new ImagoError(
      'policy-invalid',
      `${file}:${first?.line ?? 1}:${first?.column ?? 1}: ${first?.message.replace('the recipe', 'the policy')}${more}`,
      { ...(first?.hint === undefined ? {} : { hint: first.hint }), details: { file, problems } },
    );
  }
  const policy = toPolicy(checked.data);
  const hash = createHash('sha256').update(canonicalJson(policy as unknown as Json));
  return { policy, digest: `sha256:${hash.digest('hex')}` };
}

function parseTree(text: string, file: string): ReturnType<typeof parseYamlTree> {
  try {
    return parseYamlTree(text, file);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.code !== 'recipe-syntax') throw error;
    throw new ImagoError('policy-invalid', error.message, { cause: error, details: error.details ?? {} });
  }
}
