// Operations and steps between their rows and their records.
import type { Insertable, Selectable, Updateable } from 'kysely';
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

/** Only the columns that the change names; a field that is there and `undefined` empties its column. */
export function operationColumns(change: OperationChange): Updateable<OperationsTable> {
  return {
    ...(change.state === undefined ? {} : { state: change.state }),
    ...('currentStep' in change ? { current_step: change.currentStep ?? null } : {}),
    ...('progress' in change ? { progress: progressColumn(change.progress) } : {}),
    ...('result' in change ? { result: jsonColumn(change.result) } : {}),
    ...('error' in change ? { error: jsonColumn(change.error) } : {}),
    ...('exceptions' in change ? { exceptions: toJson(change.exceptions ?? []) } : {}),
    ...('startedAt' in change ? { started_at: change.startedAt ?? null } : {}),
    ...('endedAt' in change ? { ended_at: change.endedAt ?? null } : {}),
  };
}

export function stepColumns(change: StepChange): Updateable<StepsTable> {
  return {
    ...(change.state === undefined ? {} : { state: change.state }),
    ...(change.attempts === undefined ? {} : { attempts: change.attempts }),
    ...('startedAt' in change ? { started_at: change.startedAt ?? null } : {}),
    ...('endedAt' in change ? { ended_at: change.endedAt ?? null } : {}),
    ...('result' in change ? { result: jsonColumn(change.result) } : {}),
    ...('error' in change ? { error: jsonColumn(change.error) } : {}),
  };
}

/** Its sentence may quote a program, and PostgreSQL itself reads it when it makes the event. */
function progressColumn(progress: Progress | undefined): string | null {
  if (progress === undefined) return null;
  return toJson({ ...progress, sentence: storableText(progress.sentence) });
}

/** Errors and results are plain values; their readonly types only lack an index signature. */
function jsonColumn(value: unknown): string | null {
  return value === undefined ? null : toJson(value as Json);
}
