// Operations and steps between their rows and their records.
import type { Insertable, Selectable } from 'kysely';
import { type OperationRecord, operation, step } from '../../domain/operation/record.ts';
import type {
  ChildState,
  OperationChange,
  OperationRequest,
  StepChange,
} from '../../ports/workflow/operation.ts';
import { storableText } from '../connection/json.ts';
import { records } from '../connection/records.ts';
import type { OperationsTable, StepsTable } from '../connection/tables.ts';

export type OperationRow = Selectable<OperationsTable>;

const operations = records('operations', operation.omit({ steps: true }), { by: 'requested_by' });
const steps = records('steps', step);
const childState = { id: true, state: true, createdAt: true, startedAt: true, endedAt: true } as const;
const children = records('operations', operation.pick({ ...childState, error: true, progress: true }));

/** The columns that `toChildState` reads: a parent of thousands reads no input and no result of theirs. */
export const childColumns = [
  ...(['id', 'state', 'created_at', 'started_at', 'ended_at', 'error', 'progress'] as const),
];
export function toChildState(row: Pick<OperationRow, (typeof childColumns)[number]>): ChildState {
  return children.of(row as OperationRow);
}

export function toOperationRow(
  request: OperationRequest & { readonly id: string },
  at: number,
): Insertable<OperationsTable> {
  const { key = request.subject } = request;
  return operations.row({ ...request, key, state: 'queued', createdAt: new Date(at).toISOString() });
}

export function toOperation(row: OperationRow, own: readonly Selectable<StepsTable>[]): OperationRecord {
  return { ...operations.of(row), steps: own.map(steps.of) };
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

/** Progress and errors may quote a tool, and PostgreSQL itself reads their messages when it adds the events. */
function jsonText(field: string, value: unknown): string {
  if (field !== 'progress' && field !== 'error') return JSON.stringify(value);
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? storableText(part) : part));
}
