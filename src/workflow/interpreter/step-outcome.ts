// What is recorded of each step: everything that decides which way an operation goes on, and nothing else, so
// that it takes the same way again after a crash.
import type { ErrorRecord, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';

export type StepOutcome =
  | {
      /** `skipped` when it was so before the operation began: then it is not undone either. */
      readonly outcome: 'done' | 'skipped';
      readonly result?: Json;
      /** Whether there is something to put back when the operation does not succeed. */
      readonly undo: boolean;
    }
  | { readonly outcome: 'failed'; readonly error: ErrorRecord; readonly undo: boolean }
  | { readonly outcome: 'cancelled'; readonly undo: boolean }
  /** A step that no longer exists in this version of Imago. */
  | { readonly outcome: 'passed'; readonly undo: false };

export type UndoOutcome =
  /** `kept`: nothing was put back, on purpose. */
  { readonly outcome: 'undone' | 'kept' } | { readonly outcome: 'undo-failed'; readonly error: ErrorRecord };

/** The error as it can be recorded: without facts that do not survive a trip through JSON. */
export function errorRecord(error: ImagoError): ErrorRecord {
  const { details, ...record } = error.toRecord();
  try {
    return details === undefined ? record : { ...record, details: JSON.parse(JSON.stringify(details)) };
  } catch {
    return record;
  }
}
