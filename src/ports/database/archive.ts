// Carries everything in the database to another database, including one of a later major version.
import type { BackupEnvelope } from '../../domain/backup/envelope.ts';

/** What a backup held. */
export interface RestoreReport extends Omit<BackupEnvelope, 'salt'> {
  readonly tables: number;
  readonly rows: number;
  readonly keysRestored: boolean;
  /** Versions whose disk is missing here, `NAME:VERSION`. Each is recorded as a problem. */
  readonly missingDisks: readonly string[];
}

export interface BackupOptions {
  /** Adds signing keys and the webhook key; needs a passphrase. */
  readonly withKeys: boolean;
  /** Encrypts the backup. */
  readonly passphrase?: string | undefined;
  readonly signal: AbortSignal;
}

export interface RestoreOptions extends BackupOptions {
  readonly dryRun: boolean;
  /** The public key that must have signed the backup, in PEM. Defaults to this host's own keys. */
  readonly key?: string | undefined;
}

export interface Archive {
  /**
   * Yields a signed file with everything as of one moment. Read it to its end, or return it: it holds a transaction
   * open. Creates a signing key if there is none. Throws `backup-passphrase`.
   */
  backup(options: BackupOptions): AsyncGenerator<Uint8Array, void>;
  /**
   * Verifies the complete file, then fills the database in one transaction; a dry run does not commit. Refuses a
   * database that holds images or operations (`restore-not-empty`), a signer that is neither named nor this host
   * (`backup-untrusted`), a missing or wrong passphrase (`backup-passphrase`), and a file that is damaged or too new.
   */
  restore(source: AsyncIterable<Uint8Array>, options: RestoreOptions): Promise<RestoreReport>;
}
