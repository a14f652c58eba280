// The tables of the local provider: what is wanted and what was done. Power is not among them: that is the
// machine's process. All times are whole milliseconds since 1970.
import { openWorldFile, type World } from '../../common/state-database.ts';

/** A file with another number was made by another version of Imago and is not touched. */
const schemaVersion = 1;

const failure = 'errorCode TEXT, errorMessage TEXT';
const lifetime = 'createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0';

const schema = `
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE gallery (name TEXT PRIMARY KEY, region TEXT NOT NULL, description TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE image (
  gallery TEXT NOT NULL, name TEXT NOT NULL,
  os TEXT NOT NULL, architecture TEXT NOT NULL, generation INTEGER NOT NULL, osState TEXT NOT NULL,
  description TEXT,
  PRIMARY KEY (gallery, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE version (
  gallery TEXT NOT NULL, image TEXT NOT NULL, version TEXT NOT NULL,
  major INTEGER NOT NULL, minor INTEGER NOT NULL, patch INTEGER NOT NULL,
  source TEXT NOT NULL, digest TEXT, diskDigest TEXT, diskBytes INTEGER, made INTEGER NOT NULL,
  excludeFromLatest INTEGER NOT NULL, endOfLife TEXT, blockDeletion INTEGER NOT NULL, tags TEXT NOT NULL,
  ${failure}, ${lifetime},
  PRIMARY KEY (gallery, image, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versionOrder ON version (gallery, image, major, minor, patch);
CREATE INDEX versionSource ON version (source);

CREATE TABLE model (hash TEXT PRIMARY KEY, model TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE pool (
  name TEXT PRIMARY KEY, orchestration TEXT NOT NULL, model TEXT NOT NULL,
  capacity INTEGER NOT NULL, etag INTEGER NOT NULL, nextOrdinal INTEGER NOT NULL, made INTEGER NOT NULL,
  ${lifetime}
) STRICT, WITHOUT ROWID;

CREATE TABLE machine (
  machineId TEXT PRIMARY KEY,
  pool TEXT, name TEXT NOT NULL, ordinal INTEGER NOT NULL,
  spec TEXT, diskModel TEXT, appliedModel TEXT, nextModel TEXT, userData TEXT, firmware TEXT NOT NULL,
  content TEXT, nextContent TEXT, disk INTEGER NOT NULL,
  busyWith TEXT, needsWord INTEGER NOT NULL, generalized INTEGER NOT NULL,
  powerTo TEXT NOT NULL, powerDue INTEGER NOT NULL, metadataDue INTEGER NOT NULL, resizeDue INTEGER NOT NULL,
  resume INTEGER NOT NULL DEFAULT 0,
  bootedAt INTEGER, imagedAt INTEGER NOT NULL,
  protectScaleIn INTEGER NOT NULL DEFAULT 0, protectActions INTEGER NOT NULL DEFAULT 0,
  ${failure}, ${lifetime}
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX machineName ON machine (ifnull(pool, ''), name);
CREATE INDEX machineAge ON machine (pool, ordinal);

CREATE TABLE snapshot (
  name TEXT PRIMARY KEY, disk TEXT NOT NULL, machineId TEXT NOT NULL, tags TEXT NOT NULL,
  content TEXT NOT NULL, diskBytes INTEGER NOT NULL, made INTEGER NOT NULL, ${failure}, ${lifetime}
) STRICT, WITHOUT ROWID;
`;

/** Opens the provider's file, or makes an empty one. */
export function openLocalWorld(file: string | undefined): World {
  return openWorldFile(file, {
    name: 'What the local provider has',
    unusable: 'local-state-unusable',
    schema,
    version: schemaVersion,
  });
}
