// The tables of a cloud, and the way from the layouts of earlier versions. States are not stored: they follow from
// the stored times, the clock and the executor.
import type { Migration } from './state-file.ts';

const lifetime = 'createdAt INTEGER NOT NULL, deletedAt INTEGER, goneAt INTEGER';
const failure = 'errorCode TEXT, errorMessage TEXT';
const content = `digest TEXT, diskDigest TEXT, diskBytes INTEGER, traits TEXT NOT NULL DEFAULT '{}'`;

const regionCopy = `
CREATE TABLE regionCopy (
  gallery TEXT NOT NULL, image TEXT NOT NULL, version TEXT NOT NULL, region TEXT NOT NULL,
  position INTEGER NOT NULL, replicas INTEGER NOT NULL, excludeFromLatest INTEGER,
  addedAt INTEGER NOT NULL, startsAt INTEGER, readyAt INTEGER, ${failure},
  PRIMARY KEY (gallery, image, version, region)
) STRICT, WITHOUT ROWID;
`;

export const cloudSchema = `
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
  source TEXT NOT NULL, ${content},
  excludeFromLatest INTEGER NOT NULL, endOfLife TEXT, blockDeletion INTEGER NOT NULL, tags TEXT NOT NULL,
  busyUntil INTEGER NOT NULL, ${lifetime},
  PRIMARY KEY (gallery, image, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versionOrder ON version (gallery, image, major, minor, patch);
CREATE INDEX versionSource ON version (source);
${regionCopy}
CREATE TABLE snapshot (
  name TEXT PRIMARY KEY, disk TEXT NOT NULL, machineId TEXT NOT NULL, tags TEXT NOT NULL, region TEXT NOT NULL,
  ${content}, readyAt INTEGER, ${failure}, ${lifetime}
) STRICT, WITHOUT ROWID;

CREATE TABLE model (hash TEXT PRIMARY KEY, model TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** The layout that the local provider had first: the state of a version and a snapshot as columns. */
export const fromLocal: Migration = {
  to: 3,
  sql: `
    ${regionCopy}
    INSERT INTO regionCopy
      SELECT gallery, image, version, 'local', 0, 1, NULL, createdAt, createdAt,
        iif(made = 1 OR errorCode IS NOT NULL, createdAt, NULL), errorCode, errorMessage FROM version;
    ALTER TABLE version ADD COLUMN traits TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE version ADD COLUMN busyUntil INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE version ADD COLUMN deletedAt INTEGER;
    ALTER TABLE version ADD COLUMN goneAt INTEGER;
    UPDATE version SET deletedAt = createdAt WHERE deleting = 1;
    ALTER TABLE version DROP COLUMN made;
    ALTER TABLE version DROP COLUMN deleting;
    ALTER TABLE version DROP COLUMN errorCode;
    ALTER TABLE version DROP COLUMN errorMessage;

    ALTER TABLE snapshot RENAME COLUMN content TO digest;
    ALTER TABLE snapshot ADD COLUMN diskDigest TEXT;
    ALTER TABLE snapshot ADD COLUMN traits TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE snapshot ADD COLUMN region TEXT NOT NULL DEFAULT 'local';
    ALTER TABLE snapshot ADD COLUMN readyAt INTEGER;
    ALTER TABLE snapshot ADD COLUMN deletedAt INTEGER;
    ALTER TABLE snapshot ADD COLUMN goneAt INTEGER;
    UPDATE snapshot SET readyAt = createdAt WHERE made = 1 OR errorCode IS NOT NULL;
    UPDATE snapshot SET deletedAt = createdAt WHERE deleting = 1;
    ALTER TABLE snapshot DROP COLUMN made;
    ALTER TABLE snapshot DROP COLUMN deleting;`,
};

/** The layout that the simulation had first: nothing about the store, and no time of a deletion's start. */
export const fromSim: Migration = {
  to: 4,
  sql: `
    ALTER TABLE version ADD COLUMN digest TEXT;
    ALTER TABLE version ADD COLUMN deletedAt INTEGER;
    UPDATE version SET deletedAt = createdAt WHERE goneAt IS NOT NULL;
    ALTER TABLE snapshot ADD COLUMN digest TEXT;
    ALTER TABLE snapshot ADD COLUMN machineId TEXT NOT NULL DEFAULT '';
    ALTER TABLE snapshot ADD COLUMN deletedAt INTEGER;
    UPDATE snapshot SET deletedAt = createdAt WHERE goneAt IS NOT NULL;
    UPDATE snapshot SET machineId = substr(disk, length('disk/') + 1);`,
};
