// The tables of the simulated world. States are not stored: they follow from the stored times and the clock.
// All times are whole milliseconds of the world's clock.

/** A world with another number was made by another version of Imago and is not touched. */
export const worldSchemaVersion = 2;

const lifetime = 'createdAt INTEGER NOT NULL, goneAt INTEGER';
const failure = 'errorCode TEXT, errorMessage TEXT';
const machineColumns = `
  machineId TEXT NOT NULL UNIQUE,
  busyWith TEXT NOT NULL,
  readyAt INTEGER NOT NULL,
  imagedAt INTEGER NOT NULL,
  bootedAt INTEGER NOT NULL,
  powerTo TEXT NOT NULL,
  powerSince INTEGER NOT NULL,
  powerAt INTEGER NOT NULL,
  hasDisk INTEGER NOT NULL,
  diskBytes INTEGER NOT NULL,
  traits TEXT NOT NULL`;

export const worldSchema = `
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
  source TEXT NOT NULL, diskDigest TEXT NOT NULL, diskBytes INTEGER NOT NULL, traits TEXT NOT NULL,
  excludeFromLatest INTEGER NOT NULL, endOfLife TEXT, blockDeletion INTEGER NOT NULL, tags TEXT NOT NULL,
  busyUntil INTEGER NOT NULL, ${lifetime},
  PRIMARY KEY (gallery, image, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versionOrder ON version (gallery, image, major, minor, patch);
CREATE INDEX versionSource ON version (source);

CREATE TABLE regionCopy (
  gallery TEXT NOT NULL, image TEXT NOT NULL, version TEXT NOT NULL, region TEXT NOT NULL,
  position INTEGER NOT NULL, replicas INTEGER NOT NULL, excludeFromLatest INTEGER,
  addedAt INTEGER NOT NULL, startsAt INTEGER, readyAt INTEGER, ${failure},
  PRIMARY KEY (gallery, image, version, region)
) STRICT, WITHOUT ROWID;

CREATE TABLE model (hash TEXT PRIMARY KEY, model TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE pool (
  name TEXT PRIMARY KEY, region TEXT NOT NULL, orchestration TEXT NOT NULL, model TEXT NOT NULL,
  capacity INTEGER NOT NULL, etag INTEGER NOT NULL, nextOrdinal INTEGER NOT NULL,
  madeAt INTEGER NOT NULL, busyUntil INTEGER NOT NULL, ${lifetime}
) STRICT, WITHOUT ROWID;

CREATE TABLE node (
  pool TEXT NOT NULL, name TEXT NOT NULL, ordinal INTEGER NOT NULL, zone TEXT,
  diskModel TEXT NOT NULL, appliedModel TEXT NOT NULL,
  protectScaleIn INTEGER NOT NULL, protectActions INTEGER NOT NULL,
  userData TEXT, userDataBefore TEXT, userDataAt INTEGER,
  ${machineColumns}, ${failure}, ${lifetime},
  PRIMARY KEY (pool, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX nodeAge ON node (pool, ordinal);
CREATE INDEX nodeGone ON node (goneAt) WHERE goneAt IS NOT NULL;

CREATE TABLE machine (
  name TEXT PRIMARY KEY, spec TEXT NOT NULL, ${machineColumns}, ${failure}, ${lifetime}
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
  name TEXT PRIMARY KEY, disk TEXT NOT NULL, tags TEXT NOT NULL, region TEXT NOT NULL,
  diskDigest TEXT NOT NULL, diskBytes INTEGER NOT NULL, traits TEXT NOT NULL,
  readyAt INTEGER NOT NULL, ${failure}, ${lifetime}
) STRICT, WITHOUT ROWID;

CREATE TABLE layer (key TEXT PRIMARY KEY, madeAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sealedDisk (
  lockDigest TEXT PRIMARY KEY, digest TEXT NOT NULL, diskDigest TEXT NOT NULL, diskBytes INTEGER NOT NULL,
  traits TEXT NOT NULL, madeAt INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sealedByDigest ON sealedDisk (digest);
CREATE INDEX sealedByDisk ON sealedDisk (diskDigest);

CREATE TABLE bucket (
  name TEXT NOT NULL, spanMs INTEGER NOT NULL, startedAt INTEGER NOT NULL, used INTEGER NOT NULL,
  PRIMARY KEY (name, spanMs)
) STRICT, WITHOUT ROWID;

CREATE TABLE fault (
  id INTEGER PRIMARY KEY AUTOINCREMENT, spec TEXT NOT NULL, spent INTEGER NOT NULL DEFAULT 0,
  seen INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX faultLive ON fault (id) WHERE spent = 0;
`;
