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
  errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (gallery, image, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versionOrder ON version (gallery, image, major, minor, patch);
CREATE INDEX versionSource ON version (source);
CREATE TABLE model (hash TEXT PRIMARY KEY, model TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE pool (
  name TEXT PRIMARY KEY, orchestration TEXT NOT NULL, model TEXT NOT NULL,
  capacity INTEGER NOT NULL, etag INTEGER NOT NULL, nextOrdinal INTEGER NOT NULL, made INTEGER NOT NULL,
  createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0
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
  errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX machineName ON machine (ifnull(pool, ''), name);
CREATE INDEX machineAge ON machine (pool, ordinal);
CREATE TABLE snapshot (
  name TEXT PRIMARY KEY, disk TEXT NOT NULL, machineId TEXT NOT NULL, tags TEXT NOT NULL,
  content TEXT NOT NULL, diskBytes INTEGER NOT NULL, made INTEGER NOT NULL, errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, deleting INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO fact (name, value) VALUES ('epoch', '4');
INSERT INTO fact (name, value) VALUES ('latest', '1730000003249');
INSERT INTO gallery (name, region, description) VALUES ('imago', 'local', NULL);
INSERT INTO gallery (name, region, description) VALUES ('staging', 'local', 'before production');
INSERT INTO image (gallery, name, os, architecture, generation, osState, description) VALUES ('imago', 'node', 'linux', 'x64', 2, 'generalized', NULL);
INSERT INTO version (gallery, image, version, major, minor, patch, source, digest, diskDigest, diskBytes, made, excludeFromLatest, endOfLife, blockDeletion, tags, errorCode, errorMessage, createdAt, deleting) VALUES ('imago', 'node', '1.0.0', 1, 0, 0, '{"digest":"sha256:91d8f7cae06ae3795ffeb59fe5221a3b8001b395081e2fbb55868c6857a2c268","kind":"disk"}', 'sha256:0efb478f4157a15e15a3b7ab525614bb89d298180445f1cdb16516be4b413868', 'sha256:91d8f7cae06ae3795ffeb59fe5221a3b8001b395081e2fbb55868c6857a2c268', 1048576, 1, 0, NULL, 0, '{"made":"before"}', NULL, NULL, 1730000003136, 0);
INSERT INTO version (gallery, image, version, major, minor, patch, source, digest, diskDigest, diskBytes, made, excludeFromLatest, endOfLife, blockDeletion, tags, errorCode, errorMessage, createdAt, deleting) VALUES ('imago', 'node', '2.0.0', 2, 0, 0, '{"digest":"sha256:8f8c09ce69765f25ec4816f408c56d515b6431fb7d3d2cd3f0cc515006bdedd2","kind":"disk"}', 'sha256:3282074b6c9783e66f9447f85193d1c8773655ccca3ed34dd63e7be05a984239', 'sha256:8f8c09ce69765f25ec4816f408c56d515b6431fb7d3d2cd3f0cc515006bdedd2', 1048576, 1, 1, '2030-01-01T00:00:00Z', 1, '{"made":"before"}', NULL, NULL, 1730000003146, 0);
INSERT INTO model (hash, model) VALUES ('3beb514f58d20f10f3564c4825c8c0089926588e151042ae7b9b9bdd33f51c7d', '{"digest":"sha256:3282074b6c9783e66f9447f85193d1c8773655ccca3ed34dd63e7be05a984239","image":"node","nodeConfig":"{\"schemaVersion\":1}","size":"tiny","tags":{"team":"web"},"version":"2.0.0"}');
INSERT INTO model (hash, model) VALUES ('e22c4b256edbe27c616016d531c0ebfbe7392111fdb9304e8f90020e624b64ea', '{"digest":"sha256:0efb478f4157a15e15a3b7ab525614bb89d298180445f1cdb16516be4b413868","image":"node","nodeConfig":"{\"schemaVersion\":1}","size":"tiny","tags":{"team":"web"},"version":"1.0.0"}');
INSERT INTO pool (name, orchestration, model, capacity, etag, nextOrdinal, made, createdAt, deleting) VALUES ('web', 'uniform', '3beb514f58d20f10f3564c4825c8c0089926588e151042ae7b9b9bdd33f51c7d', 2, 2, 2, 1, 1730000003153, 0);
INSERT INTO machine (machineId, pool, name, ordinal, spec, diskModel, appliedModel, nextModel, userData, firmware, content, nextContent, disk, busyWith, needsWord, generalized, powerTo, powerDue, metadataDue, resizeDue, resume, bootedAt, imagedAt, protectScaleIn, protectActions, errorCode, errorMessage, createdAt, deleting) VALUES ('1d7f5aa1-6eb1-4092-8d30-ea0f599819f0', NULL, 'probe', 0, '{"digest":"sha256:3282074b6c9783e66f9447f85193d1c8773655ccca3ed34dd63e7be05a984239","firmware":"uefi","image":"node","name":"probe","size":"tiny","tags":{},"userData":"u","version":"2.0.0"}', NULL, NULL, NULL, NULL, 'uefi', 'sha256:3282074b6c9783e66f9447f85193d1c8773655ccca3ed34dd63e7be05a984239', NULL, 1, NULL, 0, 1, 'running', 0, 0, 0, 0, 1730000003221, 1730000003206, 0, 0, NULL, NULL, 1730000003206, 0);
INSERT INTO machine (machineId, pool, name, ordinal, spec, diskModel, appliedModel, nextModel, userData, firmware, content, nextContent, disk, busyWith, needsWord, generalized, powerTo, powerDue, metadataDue, resizeDue, resume, bootedAt, imagedAt, protectScaleIn, protectActions, errorCode, errorMessage, createdAt, deleting) VALUES ('7e1dd71f-77e5-4910-93ce-6f94ce770799', 'web', 'web-000000', 0, NULL, 'e22c4b256edbe27c616016d531c0ebfbe7392111fdb9304e8f90020e624b64ea', 'e22c4b256edbe27c616016d531c0ebfbe7392111fdb9304e8f90020e624b64ea', NULL, '{"schemaVersion":1,"node":{"labels":{"a":"b"}}}', 'direct', 'sha256:0efb478f4157a15e15a3b7ab525614bb89d298180445f1cdb16516be4b413868', NULL, 1, NULL, 0, 1, 'running', 0, 0, 0, 0, 1730000003193, 1730000003153, 1, 0, NULL, NULL, 1730000003153, 0);
INSERT INTO machine (machineId, pool, name, ordinal, spec, diskModel, appliedModel, nextModel, userData, firmware, content, nextContent, disk, busyWith, needsWord, generalized, powerTo, powerDue, metadataDue, resizeDue, resume, bootedAt, imagedAt, protectScaleIn, protectActions, errorCode, errorMessage, createdAt, deleting) VALUES ('c21bbeb3-c5b2-4cf7-9296-eac34a0fb49c', 'web', 'web-000001', 1, NULL, 'e22c4b256edbe27c616016d531c0ebfbe7392111fdb9304e8f90020e624b64ea', 'e22c4b256edbe27c616016d531c0ebfbe7392111fdb9304e8f90020e624b64ea', NULL, NULL, 'direct', 'sha256:0efb478f4157a15e15a3b7ab525614bb89d298180445f1cdb16516be4b413868', NULL, 1, NULL, 0, 1, 'stopped', 0, 0, 0, 0, 1730000003193, 1730000003153, 0, 0, NULL, NULL, 1730000003153, 0);
INSERT INTO snapshot (name, disk, machineId, tags, content, diskBytes, made, errorCode, errorMessage, createdAt, deleting) VALUES ('kept', 'disk/7e1dd71f-77e5-4910-93ce-6f94ce770799', '7e1dd71f-77e5-4910-93ce-6f94ce770799', '{"of":"web"}', 'sha256:0efb478f4157a15e15a3b7ab525614bb89d298180445f1cdb16516be4b413868', 2097152, 1, NULL, NULL, 1730000003231, 0);
PRAGMA user_version = 1;
