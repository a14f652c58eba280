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
  busyUntil INTEGER NOT NULL, createdAt INTEGER NOT NULL, goneAt INTEGER,
  PRIMARY KEY (gallery, image, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX versionOrder ON version (gallery, image, major, minor, patch);
CREATE INDEX versionSource ON version (source);
CREATE TABLE regionCopy (
  gallery TEXT NOT NULL, image TEXT NOT NULL, version TEXT NOT NULL, region TEXT NOT NULL,
  position INTEGER NOT NULL, replicas INTEGER NOT NULL, excludeFromLatest INTEGER,
  addedAt INTEGER NOT NULL, startsAt INTEGER, readyAt INTEGER, errorCode TEXT, errorMessage TEXT,
  PRIMARY KEY (gallery, image, version, region)
) STRICT, WITHOUT ROWID;
CREATE TABLE model (hash TEXT PRIMARY KEY, model TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE pool (
  name TEXT PRIMARY KEY, region TEXT NOT NULL, orchestration TEXT NOT NULL, model TEXT NOT NULL,
  capacity INTEGER NOT NULL, etag INTEGER NOT NULL, nextOrdinal INTEGER NOT NULL,
  madeAt INTEGER NOT NULL, busyUntil INTEGER NOT NULL, createdAt INTEGER NOT NULL, goneAt INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE node (
  pool TEXT NOT NULL, name TEXT NOT NULL, ordinal INTEGER NOT NULL, zone TEXT,
  diskModel TEXT NOT NULL, appliedModel TEXT NOT NULL,
  protectScaleIn INTEGER NOT NULL, protectActions INTEGER NOT NULL,
  userData TEXT, userDataBefore TEXT, userDataAt INTEGER,
  
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
  traits TEXT NOT NULL, errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, goneAt INTEGER,
  PRIMARY KEY (pool, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX nodeAge ON node (pool, ordinal);
CREATE INDEX nodeGone ON node (goneAt) WHERE goneAt IS NOT NULL;
CREATE TABLE machine (
  name TEXT PRIMARY KEY, spec TEXT NOT NULL, 
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
  traits TEXT NOT NULL, errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, goneAt INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot (
  name TEXT PRIMARY KEY, disk TEXT NOT NULL, tags TEXT NOT NULL, region TEXT NOT NULL,
  diskDigest TEXT NOT NULL, diskBytes INTEGER NOT NULL, traits TEXT NOT NULL,
  readyAt INTEGER NOT NULL, errorCode TEXT, errorMessage TEXT, createdAt INTEGER NOT NULL, goneAt INTEGER
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
INSERT INTO fact (name, value) VALUES ('epoch', '4');
INSERT INTO fact (name, value) VALUES ('latest', '1794712040000');
INSERT INTO fact (name, value) VALUES ('seed', 'imago');
INSERT INTO fact (name, value) VALUES ('serial', '2');
INSERT INTO gallery (name, region, description) VALUES ('imago', 'westeurope', NULL);
INSERT INTO image (gallery, name, os, architecture, generation, osState, description) VALUES ('imago', 'node', 'linux', 'x64', 2, 'generalized', NULL);
INSERT INTO version (gallery, image, version, major, minor, patch, source, diskDigest, diskBytes, traits, excludeFromLatest, endOfLife, blockDeletion, tags, busyUntil, createdAt, goneAt) VALUES ('imago', 'node', '1.0.0', 1, 0, 0, '{"digest":"sha256:4ff9ff71fd7a2b3417a0080f773fc7687f37274d488c0f898ed50dd93208897e","kind":"disk"}', 'sha256:4ff9ff71fd7a2b3417a0080f773fc7687f37274d488c0f898ed50dd93208897e', 1246756864, '{"kubernetes":"1.34.2"}', 0, NULL, 0, '{}', 1794701240000, 1794701240000, NULL);
INSERT INTO version (gallery, image, version, major, minor, patch, source, diskDigest, diskBytes, traits, excludeFromLatest, endOfLife, blockDeletion, tags, busyUntil, createdAt, goneAt) VALUES ('imago', 'node', '2.0.0', 2, 0, 0, '{"kind":"snapshot","name":"kept"}', 'sha256:f437119c9a30e08d5b1365e8a67e83bcd29b81fb48a8337f77c26b118462d70b', 1246756864, '{"kubernetes":"1.34.2"}', 1, NULL, 0, '{}', 1794712040000, 1794712040000, NULL);
INSERT INTO regionCopy (gallery, image, version, region, position, replicas, excludeFromLatest, addedAt, startsAt, readyAt, errorCode, errorMessage) VALUES ('imago', 'node', '1.0.0', 'eastus', 1, 1, 1, 1794701240000, 1794701723098, 1794702110288, NULL, NULL);
INSERT INTO regionCopy (gallery, image, version, region, position, replicas, excludeFromLatest, addedAt, startsAt, readyAt, errorCode, errorMessage) VALUES ('imago', 'node', '1.0.0', 'westeurope', 0, 2, NULL, 1794701240000, 1794701240000, 1794701723098, NULL, NULL);
INSERT INTO regionCopy (gallery, image, version, region, position, replicas, excludeFromLatest, addedAt, startsAt, readyAt, errorCode, errorMessage) VALUES ('imago', 'node', '2.0.0', 'westeurope', 0, 1, NULL, 1794712040000, 1794712040000, 1794712465651, NULL, NULL);
INSERT INTO model (hash, model) VALUES ('38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', '{"digest":"sha256:9cb68e7e7083189fd7ef0931d291d112fbadffa738e53bfc430da36b379ab434","image":"node","nodeConfig":"{\"schemaVersion\":1}","size":"s","tags":{},"version":"1.0.0"}');
INSERT INTO pool (name, region, orchestration, model, capacity, etag, nextOrdinal, madeAt, busyUntil, createdAt, goneAt) VALUES ('web', 'westeurope', 'uniform', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', 2, 2, 3, 1794704903468, 1794704903468, 1794704840000, NULL);
INSERT INTO node (pool, name, ordinal, zone, diskModel, appliedModel, protectScaleIn, protectActions, userData, userDataBefore, userDataAt, machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk, diskBytes, traits, errorCode, errorMessage, createdAt, goneAt) VALUES ('web', 'web-000000', 0, '1', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', 0, 0, '{"schemaVersion":1,"node":{"labels":{"a":"b"}}}', '{"schemaVersion":1}', 1794712040000, 'a8226f82-b120-42fc-a131-6db0bb7a56b7', 'creating', 1794704895166, 1794704840000, 1794704895166, 'running', 1794704840000, 1794704895166, 1, 1246756864, '{"kubernetes":"1.34.2"}', NULL, NULL, 1794704840000, NULL);
INSERT INTO node (pool, name, ordinal, zone, diskModel, appliedModel, protectScaleIn, protectActions, userData, userDataBefore, userDataAt, machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk, diskBytes, traits, errorCode, errorMessage, createdAt, goneAt) VALUES ('web', 'web-000001', 1, '2', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', 0, 0, NULL, NULL, NULL, 'b9ab9658-525d-4828-a5c0-ac0f2958d6a4', 'creating', 1794704903468, 1794704840000, 1794704903468, 'stopped', 1794712040000, 1794712055005, 1, 1246756864, '{"kubernetes":"1.34.2"}', NULL, NULL, 1794704840000, NULL);
INSERT INTO node (pool, name, ordinal, zone, diskModel, appliedModel, protectScaleIn, protectActions, userData, userDataBefore, userDataAt, machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk, diskBytes, traits, errorCode, errorMessage, createdAt, goneAt) VALUES ('web', 'web-000002', 2, '3', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', '38c8b576b70d5f12a5e3cc860371d31e1017e026d3da1bc7a0443c747e165b7c', 0, 0, NULL, NULL, NULL, '10b0949f-ddc8-4569-acee-46654a178ee0', 'creating', 1794704888496, 1794704840000, 1794704888496, 'running', 1794704840000, 1794704888496, 1, 1246756864, '{"kubernetes":"1.34.2"}', NULL, NULL, 1794704840000, 1794712094521);
INSERT INTO machine (name, spec, machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk, diskBytes, traits, errorCode, errorMessage, createdAt, goneAt) VALUES ('probe', '{"digest":"sha256:9cb68e7e7083189fd7ef0931d291d112fbadffa738e53bfc430da36b379ab434","firmware":"uefi","image":"node","name":"probe","nodeConfig":"{\"schemaVersion\":1}","size":"s","tags":{},"userData":"u","version":"1.0.0"}', '940de5de-a7c3-4f5a-a468-235c9244a06e', 'creating', 1794708517444, 1794708440000, 1794708517444, 'running', 1794708440000, 1794708517444, 1, 1246756864, '{"kubernetes":"1.34.2"}', NULL, NULL, 1794708440000, NULL);
INSERT INTO snapshot (name, disk, tags, region, diskDigest, diskBytes, traits, readyAt, errorCode, errorMessage, createdAt, goneAt) VALUES ('kept', 'disk/a8226f82-b120-42fc-a131-6db0bb7a56b7', '{}', 'westeurope', 'sha256:f437119c9a30e08d5b1365e8a67e83bcd29b81fb48a8337f77c26b118462d70b', 1246756864, '{"kubernetes":"1.34.2"}', 1794708441793, NULL, NULL, 1794708440000, NULL);
INSERT INTO layer (key, madeAt) VALUES ('4d553e2903c2161d6080f34e8ccbfb087daf573afeed0d866c0a173ef2828d02', 1794701040000);
INSERT INTO layer (key, madeAt) VALUES ('56483944014bcaef13f491cfe547c26d115b78fe4aa483814c3ebb88eceff500', 1794700950000);
INSERT INTO layer (key, madeAt) VALUES ('a35eb530eb173fa3e5fb2ad68492be60727c56663d6483de20acaeea9fcb9d22', 1794701240000);
INSERT INTO layer (key, madeAt) VALUES ('c095c81b585f8ba24fc28edb65db7e6b0f9c2cef30b2680db5a4a1ce4f8efcb3', 1794701220000);
INSERT INTO layer (key, madeAt) VALUES ('cd0c401139340b690a54eab9d2fbd5cba158558537948442b03bce87b39e1ae2', 1794701100000);
INSERT INTO sealedDisk (lockDigest, digest, diskDigest, diskBytes, traits, madeAt) VALUES ('sha256:a', 'sha256:9cb68e7e7083189fd7ef0931d291d112fbadffa738e53bfc430da36b379ab434', 'sha256:4ff9ff71fd7a2b3417a0080f773fc7687f37274d488c0f898ed50dd93208897e', 1246756864, '{"kubernetes":"1.34.2"}', 1794701240000);
INSERT INTO fault (id, spec, spent, seen, hits) VALUES (1, '{"kind":"fails","call":"pools.setModel","after":3}', 0, 0, 0);
PRAGMA user_version = 2;
