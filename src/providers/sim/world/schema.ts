// The file of the simulated world: the tables of the cloud, and those of the simulation alone.
import { cloudSchema, fromSim } from '../../../cloud/state/schema.ts';
import { openWorldFile, type World } from '../../../cloud/state/state-file.ts';

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

const worldSchema = `${cloudSchema}
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

/** Opens the world, or makes an empty one. Without a file it lives and dies with the process. */
export function openWorld(file: string | undefined): World {
  return openWorldFile(file, {
    name: 'The simulated world',
    unusable: 'sim-world-unusable',
    schema: worldSchema,
    version: 4,
    migrations: { 2: fromSim },
  });
}
