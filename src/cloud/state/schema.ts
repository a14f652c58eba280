// The tables of a cloud, and the way from the layouts of earlier versions. States are not stored: they follow from
// the stored times, the clock and the executor.
import type { ErrorCode } from '../../domain/error/catalog.ts';
import { type Migration, openWorldFile, type World } from './state-file.ts';

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

const pool = `
CREATE TABLE pool (
  name TEXT PRIMARY KEY, region TEXT NOT NULL, orchestration TEXT NOT NULL, model TEXT NOT NULL,
  capacity INTEGER NOT NULL, etag INTEGER NOT NULL, nextOrdinal INTEGER NOT NULL,
  madeAt INTEGER, busyUntil INTEGER, ${lifetime}
) STRICT, WITHOUT ROWID;
`;

const machineIndexes = `
CREATE UNIQUE INDEX nodeName ON machine (pool, name) WHERE pool IS NOT NULL;
CREATE UNIQUE INDEX machineName ON machine (name) WHERE pool IS NULL;
CREATE INDEX machineAge ON machine (pool, ordinal);
CREATE INDEX machineGone ON machine (goneAt) WHERE goneAt IS NOT NULL;
`;

const machine = `
CREATE TABLE machine (
  machineId TEXT PRIMARY KEY, pool TEXT, name TEXT NOT NULL, ordinal INTEGER NOT NULL,
  region TEXT NOT NULL, zone TEXT, spec TEXT, firmware TEXT NOT NULL, generalized INTEGER NOT NULL,
  diskModel TEXT, appliedModel TEXT, userData TEXT, userDataBefore TEXT, userDataAt INTEGER,
  disk INTEGER NOT NULL, imagedAt INTEGER NOT NULL, digest TEXT, diskBytes INTEGER, traits TEXT NOT NULL,
  busyWith TEXT, readyAt INTEGER,
  powerTo TEXT NOT NULL, powerSince INTEGER NOT NULL, powerAt INTEGER, bootedAt INTEGER,
  protectScaleIn INTEGER NOT NULL, protectActions INTEGER NOT NULL,
  nextDigest TEXT, nextModel TEXT, powerDue INTEGER NOT NULL DEFAULT 0, metadataDue INTEGER NOT NULL DEFAULT 0,
  resizeDue INTEGER NOT NULL DEFAULT 0, needsReport INTEGER NOT NULL DEFAULT 0,
  resume INTEGER NOT NULL DEFAULT 0,
  ${failure}, ${lifetime}
) STRICT;
${machineIndexes}`;

/** What the simulation builds, and the faults and counts of a provider that is wrapped. */
const simulation = `
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
${pool}${machine}${simulation}`;

/** The layout that the local provider had first: the state of a version and a snapshot as columns. */
const fromLocal: Migration = {
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
const fromSim: Migration = {
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

const localMachines: Migration = {
  to: 5,
  sql: `
    ALTER TABLE pool ADD COLUMN region TEXT NOT NULL DEFAULT 'local';
    ALTER TABLE pool ADD COLUMN madeAt INTEGER;
    ALTER TABLE pool ADD COLUMN busyUntil INTEGER;
    ALTER TABLE pool ADD COLUMN deletedAt INTEGER;
    ALTER TABLE pool ADD COLUMN goneAt INTEGER;
    UPDATE pool SET madeAt = createdAt WHERE made = 1;
    UPDATE pool SET deletedAt = createdAt WHERE deleting = 1;
    ALTER TABLE pool DROP COLUMN made;
    ALTER TABLE pool DROP COLUMN deleting;

    DROP INDEX machineName;
    DROP INDEX machineAge;
    ALTER TABLE machine RENAME COLUMN content TO digest;
    ALTER TABLE machine RENAME COLUMN nextContent TO nextDigest;
    ALTER TABLE machine RENAME COLUMN needsWord TO needsReport;
    ALTER TABLE machine ADD COLUMN region TEXT NOT NULL DEFAULT 'local';
    ALTER TABLE machine ADD COLUMN zone TEXT;
    ALTER TABLE machine ADD COLUMN userDataBefore TEXT;
    ALTER TABLE machine ADD COLUMN userDataAt INTEGER;
    ALTER TABLE machine ADD COLUMN diskBytes INTEGER;
    ALTER TABLE machine ADD COLUMN traits TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE machine ADD COLUMN readyAt INTEGER;
    ALTER TABLE machine ADD COLUMN powerSince INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE machine ADD COLUMN powerAt INTEGER;
    ALTER TABLE machine ADD COLUMN deletedAt INTEGER;
    ALTER TABLE machine ADD COLUMN goneAt INTEGER;
    UPDATE machine SET deletedAt = createdAt WHERE deleting = 1;
    ALTER TABLE machine DROP COLUMN deleting;
    ${machineIndexes}${simulation}`,
};

const simMachineColumns = `machineId, name, imagedAt, bootedAt, busyWith, readyAt, powerTo, powerSince, powerAt,
      diskBytes, traits, errorCode, errorMessage, createdAt, goneAt`;

/** The simulation had nodes and single machines in two tables. */
const simMachines: Migration = {
  to: 5,
  sql: `
    ALTER TABLE pool ADD COLUMN deletedAt INTEGER;
    UPDATE pool SET deletedAt = createdAt WHERE goneAt IS NOT NULL;
    ALTER TABLE machine RENAME TO singleMachine;
    ${machine}
    INSERT INTO machine (pool, ordinal, zone, diskModel, appliedModel, protectScaleIn, protectActions,
      userData, userDataBefore, userDataAt, disk, firmware, generalized, region, deletedAt, ${simMachineColumns})
      SELECT pool, ordinal, zone, diskModel, appliedModel, protectScaleIn, protectActions,
        userData, userDataBefore, userDataAt, hasDisk, 'direct', 1,
        (SELECT region FROM pool WHERE pool.name = node.pool), iif(goneAt IS NULL, NULL, createdAt),
        ${simMachineColumns} FROM node;
    INSERT INTO machine (spec, ordinal, protectScaleIn, protectActions, disk, firmware, generalized, region,
      deletedAt, ${simMachineColumns})
      SELECT spec, 0, 0, 0, hasDisk, spec ->> 'firmware', 1,
        ifnull(spec ->> 'region', (SELECT region FROM gallery WHERE name = 'imago')),
        iif(goneAt IS NULL, NULL, createdAt), ${simMachineColumns} FROM singleMachine;
    DROP TABLE node;
    DROP TABLE singleMachine;`,
};

/** Opens the state of a cloud, or makes an empty one. Without a file it lives and dies with the process. */
export function openCloudState(
  file: string | undefined,
  names: { readonly name: string; readonly unusable: ErrorCode },
): World {
  const migrations = { 1: fromLocal, 2: fromSim, 3: localMachines, 4: simMachines };
  return openWorldFile(file, { ...names, schema, version: 5, migrations });
}
