// Redacts an operation for a caller. Recipes and locks name private inputs, so callers who are not allowed to start such
// an operation do not see its input.
import { roleIncludes } from '../../../domain/access/roles.ts';
import { roleOfKind } from '../../../domain/operation-kinds.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { OperationRecord } from '../../../ports/workflow/operation.ts';
import type { Caller } from '../guard/caller.ts';

/** Returns the record itself if it has no private inputs, or the caller is allowed to see them. */
export function operationFor(caller: Pick<Caller, 'role'>, record: OperationRecord): OperationRecord {
  if (roleIncludes(caller.role, roleOfKind(record.kind))) return record;
  const { input, steps, result, ...rest } = record;
  if (![input, ...steps.map((step) => step.result)].some(isPrivate)) return record;
  return {
    ...rest,
    input: { private: true },
    steps: steps.map(({ result: _, ...step }) => step),
    ...(result !== undefined && !holdsRecipe(result) && { result }),
  };
}

function isPrivate(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item: Json) => isPrivate(item));
  const fields = value as Readonly<Record<string, Json | undefined>>;
  return fields.private === true || Object.values(fields).some(isPrivate);
}

/** Returns whether the result contains a lock or a recipe, as those of `recipe lock` and `recipe absorb` do. */
function holdsRecipe(result: Json): boolean {
  return typeof result === 'object' && result !== null && 'text' in result;
}
