// What a backup looks like: gzip over lines of JSON. First a header that says all that is needed to make the
// tables anew; then each table's name and its rows, every value as PostgreSQL writes it; last a line with the
// number of rows and the sha256 of all lines before it, without which the file was cut short.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';

export const formatName = 'imago-backup';
/** Grows when an older Imago could not read what a newer one writes. */
export const formatVersion = 1;

const tableSchema = z.object({
  schema: z.string(),
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.int().nonnegative(),
});

const headerSchema = z.object({
  format: z.literal(formatName),
  version: z.int().positive(),
  createdAt: z.string(),
  /** The version of Imago that made it; absent when it did not say. */
  madeBy: z.string().optional(),
  /** The number of PostgreSQL's version, e.g. 180004. */
  postgres: z.int(),
  /** The newest migration. */
  schemaVersion: z.int().nonnegative(),
  /** Of the daemon that was active. */
  epoch: z.int().nonnegative(),
  schemas: z.array(z.string()).min(1),
  before: z.array(z.string()),
  after: z.array(z.string()),
  tables: z.array(tableSchema),
  sequences: z.array(
    z.object({
      name: z.string(),
      /** Of an identity column, whose sequence may be called otherwise when it is made anew. */
      identity: z.object({ table: z.string(), column: z.string() }).optional(),
      value: z.string(),
      called: z.boolean(),
    }),
  ),
});
export type BackupHeader = z.infer<typeof headerSchema>;
export type BackupTable = z.infer<typeof tableSchema>;

export type BackupRow = readonly (string | null)[];

const endSchema = z.object({
  end: z.object({ rows: z.int().nonnegative(), sha256: z.string() }),
});
export type BackupEnd = z.infer<typeof endSchema>['end'];

export function readHeader(line: string): BackupHeader {
  const value = parseLine(line);
  if (typeof value === 'object' && value !== null && 'format' in value && value.format === formatName) {
    if ('version' in value && typeof value.version === 'number' && value.version > formatVersion) {
      throw new ImagoError('database-version', 'The backup was made by a newer version of Imago.', {
        hint: 'Restore it with that version or a later one.',
      });
    }
    const header = headerSchema.safeParse(value);
    if (header.success) return header.data;
  }
  throw invalid('it does not begin like one');
}

/** A table's beginning, a row of it, or the end of the file. */
export function readLine(line: string): string | BackupRow | BackupEnd {
  const value = parseLine(line);
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((cell) => cell === null || typeof cell === 'string')) return value;
  const end = endSchema.safeParse(value);
  if (end.success) return end.data.end;
  throw invalid('it has a line that cannot be read');
}

export function invalid(why: string, cause?: unknown): ImagoError {
  return new ImagoError('backup-invalid', `This is not a whole backup: ${why}.`, { cause });
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw invalid('it has a line that is not JSON', error);
  }
}
