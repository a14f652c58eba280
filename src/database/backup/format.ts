// The content of a backup: gzip over lines of JSON. The first line is the header, the other lines are the rows of its
// tables in the header's order, every value as PostgreSQL prints it. There is no SQL in it.
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';

const name = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/);
const count = z.int().nonnegative();

const headerSchema = z.strictObject({
  /** The newest migration of Imago's tables and of the engine's. */
  schema: count,
  engine: count,
  /** The epoch of the daemon that was active. */
  epoch: count,
  tables: z.array(
    z.strictObject({ schema: z.enum(['imago', 'dbos']), name, columns: z.array(name).min(1), rows: count }),
  ),
  /** The positions of identity and serial columns. */
  sequences: z.array(
    z.strictObject({
      schema: z.enum(['imago', 'dbos']),
      table: name,
      column: name,
      value: z.string().regex(/^-?\d{1,19}$/),
      called: z.boolean(),
    }),
  ),
  /** Digests of the versions whose disk was in the local store of the host that made the backup. */
  disks: z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/)).default([]),
  /** Key files by name; only an encrypted backup has any. */
  files: z
    .array(z.strictObject({ name: z.string(), data: z.base64().max(262_144) }))
    .max(1_000)
    .default([]),
});
export type BackupHeader = z.infer<typeof headerSchema>;
export type BackupTable = BackupHeader['tables'][number];
export type BackupFile = BackupHeader['files'][number];
export type BackupRow = readonly (string | null)[];

const rowSchema = z.array(z.string().nullable());

/** The longest line, so that a row fits into memory on both sides. */
export const maxLineChars = 64 * 1024 * 1024;

export interface BackupReader {
  readonly header: BackupHeader;
  /** The rows that follow. Throws `backup-invalid` if they are not exactly those that the header counts. */
  rows(): AsyncGenerator<{ readonly table: BackupTable; readonly row: BackupRow }>;
}

/** Every read throws `backup-invalid` for content that is damaged, truncated or too long. */
export async function readContent(source: Readable): Promise<BackupReader> {
  const lines = splitLines(source);
  const first = await lines.next();
  const header = headerSchema.safeParse(parseLine(first.value ?? ''));
  if (!header.success) throw invalid('its header cannot be read', header.error);
  return {
    header: header.data,
    async *rows() {
      for (const table of header.data.tables) {
        for (let index = 0; index < table.rows; index += 1) {
          const { value, done } = await lines.next();
          const row = rowSchema.safeParse(done === true ? undefined : parseLine(value));
          if (!row.success || row.data.length !== table.columns.length) {
            throw invalid(`row ${index + 1} of table ${table.schema}.${table.name} cannot be read`);
          }
          yield { table, row: row.data };
        }
      }
      if ((await lines.next()).done !== true) throw invalid('it has more rows than its header counts');
    },
  };
}

async function* splitLines(source: Readable): AsyncGenerator<string, undefined> {
  const text = createGunzip();
  source.once('error', (error) => text.destroy(error));
  source.pipe(text);
  text.setEncoding('utf8');
  let rest: string[] = [];
  let length = 0;
  try {
    for await (const chunk of text) {
      const [first = '', ...others] = String(chunk).split('\n');
      length += first.length;
      if (length > maxLineChars) throw invalid('it has a line that is too long');
      rest.push(first);
      for (const next of others) {
        yield rest.join('');
        rest = [next];
        length = next.length;
      }
    }
  } catch (error) {
    throw error instanceof ImagoError ? error : invalid('it cannot be unpacked', error);
  } finally {
    source.destroy();
  }
  if (length > 0) throw invalid('its last line is truncated');
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw invalid('it has a line that is not JSON', error);
  }
}

export function invalid(why: string, cause?: unknown): ImagoError {
  return new ImagoError('backup-invalid', `The backup cannot be used: ${why}.`, { cause });
}
