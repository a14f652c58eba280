// Operations and steps between their rows and their records.
import type { Insertable, Selectable } from 'kysely';
import type { ErrorRecord } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type {
  OperationChange,
  OperationRecord,
  OperationRequest,
  Progress,
  StepChange,
  StepRecord,
} from '../../ports/workflow/operation.ts';
import { fromJson, optional, optionalJson, storableText, toJson } from '../connection/json.ts';
import type { OperationsTable, StepsTable } from '../connection/tables.ts';

export type OperationRow = Selectable<OperationsTable>;
export type StepRow = Selectable<StepsTable>;

export function toOperationRow(
  request: OperationRequest & { readonly id: string },
  at: number,
): Insertable<OperationsTable> {
  return {
    id: request.id,
    kind: request.kind,
    subject: request.subject,
    requested_by: request.by,
    os_user: request.osUser ?? null,
    key: request.key ?? request.subject,
    input: toJson(request.input),
    state: 'queued',
    parent: request.parent ?? null,
    retry_of: request.retryOf ?? null,
    created_at: new Date(at).toISOString(),
  };
}

export function toOperation(row: OperationRow, steps: readonly StepRow[]): OperationRecord {
  return {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    by: row.requested_by,
    ...optional('osUser', row.os_user),
    key: row.key,
    input: fromJson(row.input),
    state: row.state,
    steps: steps.map(toStep),
    ...optional('currentStep', row.current_step),
    ...optionalJson<'progress', Progress>('progress', row.progress),
    ...optionalJson<'result', Json>('result', row.result),
    ...optionalJson<'error', ErrorRecord>('error', row.error),
    exceptions: fromJson<readonly string[]>(row.exceptions),
    ...optional('cancelRequestedBy', row.cancel_requested_by),
    ...optional('parent', row.parent),
    ...optional('retryOf', row.retry_of),
    createdAt: row.created_at,
    ...optional('startedAt', row.started_at),
    ...optional('endedAt', row.ended_at),
  };
}

function toStep(row: StepRow): StepRecord {
  return {
    name: row.name,
    state: row.state,
    attempts: row.attempts,
    ...optional('startedAt', row.started_at),
    ...optional('endedAt', row.ended_at),
    ...optionalJson<'result', Json>('result', row.result),
    ...optionalJson<'error', ErrorRecord>('error', row.error),
  };
}

const jsonFields: ReadonlySet<string> = new Set(['progress', 'result', 'error', 'exceptions']);

/**
 * A change as the journal's statement reads it: fields that are `undefined` are listed as cleared. JSON is a text within
 * it, so that a `null` stays a value.
 */
export function storedChange(change: OperationChange | StepChange, name?: string): string {
  const fields = Object.entries(change);
  const cleared = fields.filter(([, value]) => value === undefined).map(([field]) => field);
  const given = fields.filter(([, value]) => value !== undefined);
  const stored = given.map(([field, value]) => [
    field,
    jsonFields.has(field) ? jsonText(field, value) : value,
  ]);
  return JSON.stringify({ name, ...Object.fromEntries(stored), cleared });
}

/** Progress may quote a program, and PostgreSQL itself reads its sentence when it makes the event. */
function jsonText(field: string, value: unknown): string {
  if (field !== 'progress') return JSON.stringify(value);
  const progress = value as Progress;
  return JSON.stringify({ ...progress, sentence: storableText(progress.sentence) });
}
