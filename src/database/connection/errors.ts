// Converts what PostgreSQL and its driver throw to errors of Imago. Done once, where the driver is called.
import type { ErrorCode } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Raised by our own triggers: the writer's epoch is not the active one. */
const staleEpochState = 'IM001';
/** Raised by our own triggers: a write tried to change what is retained permanently. */
const keptForeverState = 'IM002';

interface Meaning {
  readonly code: ErrorCode;
  readonly says: string;
  readonly httpStatus?: number;
}

const unreachable = {
  code: 'database-unreachable',
  says: 'The connection to the database is gone',
} as const satisfies Meaning;
const busy = {
  code: 'database-busy',
  says: 'The database could not do it in time',
} as const satisfies Meaning;
const refused = { code: 'database-refused', says: 'The database refused' } as const satisfies Meaning;
const failed = {
  code: 'database-failed',
  says: 'The database met a fault of its own',
} as const satisfies Meaning;
const otherTables = {
  code: 'database-version',
  says: 'The tables are not those that this version of Imago needs',
} as const satisfies Meaning;
const full = {
  code: 'database-full',
  says: 'The disk of the database is full',
  httpStatus: 507,
} as const satisfies Meaning;

const meanings: Readonly<Record<string, Meaning>> = {
  [staleEpochState]: { code: 'owner-stale', says: 'Another daemon has become the active one' },
  [keptForeverState]: { code: 'internal', says: 'A write tried to change a permanent record' },
  '22021': { code: 'input-invalid', says: 'A text holds a character that cannot be stored' },
  '22P05': { code: 'input-invalid', says: 'A text holds a character that cannot be stored' },
  '25006': { code: 'database-readonly', says: 'The database takes no writes' },
  '25P03': unreachable,
  '3D000': refused,
  '40001': busy,
  '40P01': busy,
  '3F000': otherTables,
  '42501': refused,
  '42P01': otherTables,
  '53100': full,
  '53200': { code: 'database-busy', says: 'The database is out of memory' },
  '53300': { code: 'database-busy', says: 'The database has no connection left' },
  '55P03': busy,
  '57014': busy,
  '57P01': unreachable,
  '57P02': unreachable,
  '57P03': { code: 'database-unreachable', says: 'The database is starting or stopping' },
  '57P05': unreachable,
  ECONNREFUSED: { code: 'database-unreachable', says: 'Nothing answers at the address of the database' },
  ENOENT: { code: 'database-unreachable', says: 'Nothing answers at the address of the database' },
  ENOTFOUND: { code: 'database-unreachable', says: 'The host of the database is not known' },
  EAI_AGAIN: { code: 'database-unreachable', says: 'The host of the database is not known at the moment' },
  EACCES: refused,
  ERR_INVALID_URL: { code: 'input-invalid', says: 'The URL of the database cannot be read' },
};

const meaningsByClass: Readonly<Record<string, Meaning>> = {
  '08': unreachable,
  '28': refused,
  '58': failed,
  XX: failed,
};

// The driver has no codes for these.
const lostConnection =
  /connection (terminated|error|timeout)|timeout exceeded when trying to connect|not queryable|query read timeout|connection ended/i;

/** The ImagoError for whatever a database call threw. What has no meaning of its own is our bug. */
export function asStoreError(thrown: unknown): ImagoError {
  if (thrown instanceof ImagoError) return thrown;
  const meaning = meaningOf(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (meaning === undefined)
    return new ImagoError('internal', `The database said: ${message}`, { cause: thrown });
  return new ImagoError(meaning.code, `${meaning.says}: ${sentenceEnd(message)}`, {
    cause: thrown,
    ...(meaning.httpStatus === undefined ? {} : { httpStatus: meaning.httpStatus }),
  });
}

/** Whether the call may be made again on another connection; it says nothing about a commit in progress. */
export function isConnectionLoss(thrown: unknown): boolean {
  return thrown instanceof ImagoError && thrown.code === 'database-unreachable';
}

export function sqlState(thrown: unknown): string | undefined {
  if (thrown instanceof ImagoError) return sqlState(thrown.cause);
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

function meaningOf(thrown: unknown): Meaning | undefined {
  const message = thrown instanceof Error ? thrown.message : '';
  if (/no space left on device/i.test(message)) return full;
  const state = sqlState(thrown);
  if (state !== undefined) {
    const found = meanings[state] ?? meaningsByClass[state.slice(0, 2)];
    if (found !== undefined) return found;
    if (/^E[A-Z]{3,}$/.test(state)) return unreachable;
  }
  return lostConnection.test(message) ? unreachable : undefined;
}

function sentenceEnd(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
