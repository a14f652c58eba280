// The result of an earlier step that this one cannot do without.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Json } from '../domain/value/json.ts';
import type { StepContext } from '../ports/workflow/operation.ts';

export function requireResult<T>(context: StepContext<unknown>, step: string): T {
  const result = context.result<Json>(step);
  if (result === undefined) throw new ImagoError('internal', `Step ${step} left no result.`);
  return result as T;
}
