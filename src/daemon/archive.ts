// Backups of the running daemon's database, and the way back. A restore needs the database for itself: the
// engine is stopped first, and the daemon begins again afterwards, whatever came of it.
import { PassThrough, Readable } from 'node:stream';
import { backup } from '../database/backup/backup.ts';
import { restore } from '../database/backup/restore.ts';
import type { Database } from '../database/connection/database.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Archive } from '../ports/database/archive.ts';
import { packageVersion } from './process/version.ts';

export interface ArchiveParts {
  readonly database: Pick<Database, 'url' | 'epoch' | 'read'>;
  /** Stops whatever works on the database. */
  readonly beforeRestore: () => Promise<void>;
  /** Begins anew. */
  readonly afterRestore: () => void;
}

/** Time for the answer to leave before the daemon begins anew. */
const ANSWER_MS = 500;

/** As the port says. It only reads, so that a daemon that stands by can do it too. */
export async function* backupOf(
  database: Pick<Database, 'url'>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const pipe = new PassThrough();
  const written = backup(database, pipe, { madeBy: packageVersion() });
  written.catch((error) => pipe.destroy(error));
  const abort = () => pipe.destroy(new ImagoError('cancelled', 'The backup was given up.'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const chunk of pipe) yield chunk as Uint8Array;
    await written;
  } finally {
    signal.removeEventListener('abort', abort);
    pipe.destroy();
  }
}

export function createArchive({ database, beforeRestore, afterRestore }: ArchiveParts): Archive {
  async function requireEmpty(): Promise<void> {
    const held = await database.read(async (tables) => ({
      image: await tables.selectFrom('images').select('name').limit(1).executeTakeFirst(),
      operation: await tables.selectFrom('operations').select('id').limit(1).executeTakeFirst(),
    }));
    if (held.image === undefined && held.operation === undefined) return;
    throw new ImagoError('restore-not-empty', 'The database already holds images or operations.');
  }

  return {
    backup: (signal) => backupOf(database, signal),

    async restore(source, { dryRun, signal }) {
      await requireEmpty();
      const stream = Readable.from(source, { objectMode: false, signal });
      if (!dryRun) await beforeRestore();
      try {
        const { createdAt, madeBy, tables, rows } = await restore(database, stream, { dryRun });
        return { madeAt: createdAt, madeBy: madeBy ?? 'unknown', tables, rows };
      } finally {
        if (!dryRun) setTimeout(afterRestore, ANSWER_MS);
      }
    },
  };
}
