// Backups of the running daemon, and restoring them. A restore needs the database for itself: the engine is stopped
// first, and the daemon starts again afterwards, even if the restore failed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { backup } from '../../database/backup/backup.ts';
import { restore } from '../../database/backup/restore.ts';
import type { Database } from '../../database/connection/database.ts';
import type { Store } from '../../database/open-database.ts';
import type { BackupEnvelope } from '../../domain/backup/envelope.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { packageVersion } from '../../launcher/package.ts';
import { keyFolder, type SigningKey } from '../../oci/signatures/key-folder.ts';
import { signingKey } from '../../oci/signatures/keyring.ts';
import type { Archive, BackupOptions } from '../../ports/database/archive.ts';
import type { DaemonEnvironment } from '../environment.ts';
import { openBackup, seal } from './container.ts';
import { readKeyFiles, writeKeyFiles } from './key-files.ts';
import { spool } from './spool.ts';

export interface BackupParts {
  readonly database: Pick<Database, 'url'>;
  /** The state directory, with the signing keys. */
  readonly home: string;
  readonly keyPassphrase?: string | undefined;
  /** Digests of the versions whose disk is in the local store; a standby daemon does not know them. */
  readonly disks?: () => Promise<ReadonlySet<string>>;
}

export interface ArchiveParts extends BackupParts {
  readonly database: Pick<Database, 'url' | 'epoch' | 'read'>;
  /** Stops everything that works on the database. */
  readonly beforeRestore: () => Promise<void>;
  /** Starts the daemon again. */
  readonly afterRestore: () => void;
}

/** Time for the response to be sent before the daemon starts again. */
const responseMs = 500;
const minPassphrase = 12;

/** Data that a backup never contains, by its path in the state directory. */
const directories = {
  store: 'disks and locks of versions',
  local: 'machines and disks of the local provider',
  'sim/world.db': 'state of the simulation',
  secrets: 'secrets that node configs name',
  'settings.json': 'settings of the daemon',
};
const keyPlaces = { keys: 'signing keys', 'webhook.key': 'key of webhook secrets' };

export function backupParts({ paths, processEnv }: DaemonEnvironment, { database }: Store): BackupParts {
  return { database, home: paths.home, keyPassphrase: processEnv.env.IMAGO_KEY_PASSPHRASE || undefined };
}

/** Implements the port. It only reads the database, so that a standby daemon can do it too. */
export async function* backupOf(
  { database, home, keyPassphrase, disks }: BackupParts,
  { withKeys, passphrase, signal }: BackupOptions,
): AsyncGenerator<Uint8Array, void> {
  if (withKeys && passphrase === undefined) {
    throw new ImagoError(
      'backup-passphrase',
      'A backup with keys is always encrypted, and no passphrase was given.',
    );
  }
  if (passphrase !== undefined && passphrase.length < minPassphrase) {
    throw new ImagoError('backup-passphrase', `The passphrase has fewer than ${minPassphrase} characters.`);
  }
  const key = await ownKey(home, keyPassphrase);
  const envelope: Omit<BackupEnvelope, 'signer'> = {
    madeAt: new Date().toISOString(),
    madeBy: packageVersion(),
    holds: ['records', ...(withKeys ? (['keys'] as const) : [])],
    copy: Object.entries(withKeys ? directories : { ...directories, ...keyPlaces })
      .map(([name, what]) => ({ what, path: join(home, name) }))
      .filter(({ path }) => existsSync(path)),
  };
  const files = withKeys ? await readKeyFiles(home) : [];
  const content = backup(database, { files, disks: (await disks?.()) ?? [] });
  for await (const chunk of seal(content, { envelope, key, passphrase })) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** Returns the key that signs now. A daemon without a key creates one. */
async function ownKey(home: string, passphrase: string | undefined): Promise<SigningKey> {
  const keys = keyFolder(join(home, 'keys'));
  const at = new Date().toISOString();
  if (signingKey(await keys.keyring(), at) === undefined) await keys.create(at, passphrase);
  return keys.load(new Date().toISOString(), passphrase);
}

export function createArchive(parts: ArchiveParts): Archive {
  const { database, home, disks, beforeRestore, afterRestore } = parts;
  async function requireEmpty(): Promise<void> {
    const held = await database.read(async (tables) => ({
      image: await tables.selectFrom('images').select('name').limit(1).executeTakeFirst(),
      operation: await tables.selectFrom('operations').select('id').limit(1).executeTakeFirst(),
    }));
    if (held.image === undefined && held.operation === undefined) return;
    throw new ImagoError('restore-not-empty', 'The database already contains images or operations.');
  }

  return {
    backup: (options) => backupOf(parts, options),

    async restore(source, { dryRun, withKeys, key, passphrase, signal }) {
      await requireEmpty();
      const file = await spool(Readable.from(source, { objectMode: false, signal }));
      try {
        const keyring = await keyFolder(join(home, 'keys')).keyring();
        const { envelope, content } = await openBackup(file, { keyring, key, passphrase });
        if (!dryRun) await beforeRestore();
        try {
          const { tables, rows, missingDisks } = await restore(database, content(), {
            ...{ dryRun, disks: (await disks?.()) ?? new Set<string>() },
            onFiles: async (files) => (withKeys ? writeKeyFiles(home, files, dryRun) : undefined),
          });
          return {
            ...envelope,
            tables,
            rows,
            missingDisks,
            keysRestored: withKeys && envelope.holds.includes('keys'),
          };
        } finally {
          if (!dryRun) setTimeout(afterRestore, responseMs);
        }
      } finally {
        await file.close();
      }
    },
  };
}
