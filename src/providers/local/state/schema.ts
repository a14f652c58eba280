// The file of the local provider: the tables of the cloud, and its pools and machines. Power is not among them: that
// is the machine's process.
import { cloudSchema, fromLocal } from '../../../cloud/state/schema.ts';
import { openWorldFile, type World } from '../../../cloud/state/state-file.ts';

const failure = 'errorCode TEXT, errorMessage TEXT';
const lifetime = 'createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0';

const schema = `${cloudSchema}
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
`;

/** Opens the provider's file, or makes an empty one. */
export function openLocalWorld(file: string | undefined): World {
  return openWorldFile(file, {
    name: 'The state of the local provider',
    unusable: 'local-state-unusable',
    schema,
    version: 3,
    migrations: { 1: fromLocal },
  });
}
