// The one error that Imago throws on purpose. A kind says who must act; a code names the page in
// docs/errors.md; whether a retry can help is decided where the error originates.
import { type ErrorCode, type ErrorKind, errorCatalog, isErrorCode } from './catalog.ts';

interface KindFacts {
  readonly exitCode: number;
  readonly httpStatus: number;
  readonly retryable: boolean;
}

export const errorKinds = {
  input: { exitCode: 2, httpStatus: 400, retryable: false },
  'not-found': { exitCode: 3, httpStatus: 404, retryable: false },
  conflict: { exitCode: 4, httpStatus: 409, retryable: false },
  refused: { exitCode: 4, httpStatus: 403, retryable: false },
  failed: { exitCode: 1, httpStatus: 422, retryable: false },
  provider: { exitCode: 5, httpStatus: 502, retryable: true },
  quota: { exitCode: 5, httpStatus: 429, retryable: false },
  timeout: { exitCode: 5, httpStatus: 504, retryable: true },
  cancelled: { exitCode: 130, httpStatus: 409, retryable: false },
  bug: { exitCode: 70, httpStatus: 500, retryable: false },
} as const satisfies Record<ErrorKind, KindFacts>;

export interface ErrorOptions {
  /** What the reader should do next. Defaults to the hint of the catalog. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Set where the error originates if it differs from the default of its kind. */
  readonly retryable?: boolean;
  /** Overrides the kind's HTTP status, e.g. 401 for a missing token or 413 for a body that is too big. */
  readonly httpStatus?: number;
  /** Facts for machines: never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What an error looks like in a record, in `--json` output and inside a problem document. */
export interface ErrorRecord {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly retryable: boolean;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export class ImagoError extends Error {
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly exitCode: number;
  readonly httpStatus: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const entry = errorCatalog[code];
    const kind = errorKinds[entry.kind];
    this.name = 'ImagoError';
    this.code = code;
    this.kind = entry.kind;
    this.hint = options.hint ?? entry.hint;
    this.retryable = options.retryable ?? kind.retryable;
    this.exitCode = kind.exitCode;
    this.httpStatus = options.httpStatus ?? kind.httpStatus;
    this.details = options.details;
  }

  toRecord(): ErrorRecord {
    return {
      code: this.code,
      kind: this.kind,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      retryable: this.retryable,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** Turns whatever was thrown into an ImagoError: at each boundary, once. */
export function ensureImagoError(thrown: unknown): ImagoError {
  if (thrown instanceof ImagoError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ImagoError('internal', message, { cause: thrown });
}

/** Rebuilds an error from its record, so that a caller can throw what an operation recorded. */
export function errorFromRecord(record: ErrorRecord): ImagoError {
  return new ImagoError(isErrorCode(record.code) ? record.code : 'internal', record.message, {
    ...(record.hint === undefined ? {} : { hint: record.hint }),
    retryable: record.retryable,
    ...(record.details === undefined ? {} : { details: record.details }),
  });
}
