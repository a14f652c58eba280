// Databases for tests of what is kept in PostgreSQL: migrated once for each server, then copied.
import { randomUUID } from 'node:crypto';
import { connectClient } from '../../src/database/connection/connection.ts';
import { migrate } from '../../src/database/migrations/migrate.ts';
import { openStore, type Store, type StoreOptions } from '../../src/database/open-database.ts';
import { startPostgres, type TestPostgres, type TestPostgresOptions } from './postgres.ts';

export interface StoreBench {
  readonly postgres: TestPostgres;
  /** The URL of a new database with all tables and no rows; its active epoch is 0. */
  freshDatabase(): Promise<string>;
  /** A store on a new database, or on the one that is given. Closed by `stop`. */
  freshStore(options?: Partial<StoreOptions>): Promise<Store>;
  stop(): Promise<void>;
}

export async function startStoreBench(options: TestPostgresOptions = {}): Promise<StoreBench> {
  const postgres = await startPostgres(options);
  const template = await postgres.freshDatabase();
  await migrate({ url: template, epoch: 0 });
  const stores: Store[] = [];
  return {
    postgres,
    freshDatabase: () => postgres.freshDatabase(template),
    async freshStore(given = {}) {
      const url = given.url ?? (await postgres.freshDatabase(template));
      const store = openStore({ epoch: 0, ...given, url });
      stores.push(store);
      return store;
    },
    async stop() {
      await Promise.all(stores.map((store) => store.close().catch(() => undefined)));
      await postgres.stop();
    },
  };
}

/** Runs one statement beside the store, as an administrator would. */
export async function administer<Row extends object>(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = await connectClient(url);
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Cuts connections to the database, as a restarting proxy would; `which` is a condition on pg_stat_activity. */
export async function cutConnections(url: string, which = 'true'): Promise<number> {
  const cut = await administer(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and ${which}`,
  );
  return cut.length;
}

export function digestOf(seed: string | number): string {
  return `sha256:${String(seed).padStart(64, '0')}`;
}

/** An image with versions 1.0.0 and on, whose tests have passed unless they are to stay candidates. */
export async function seedImage(
  { catalogue }: Store,
  name: string,
  versions: number,
  state: 'candidate' | 'available' = 'available',
  mark: { readonly simulated?: true } = {},
): Promise<readonly string[]> {
  await catalogue.ensureImage({ name, os: 'linux', architecture: 'x64', numbering: 'semver', ...mark });
  const numbers: string[] = [];
  for (let index = 0; index < versions; index += 1) {
    const operation = randomUUID();
    const version = await catalogue.reserveNumber(name, operation, (used) => `1.0.${used.length}`);
    const digest = digestOf(`${name.length}${index}`);
    await catalogue.addVersion({
      image: name,
      version,
      digest,
      diskDigest: digestOf(index),
      sizeBytes: 1_000,
      origin: { kind: 'built', lockDigest: `lock-${index}` },
      operation,
      ...mark,
    });
    if (state === 'available') await makeAvailable({ catalogue }, name, version, digest);
    numbers.push(version);
  }
  return numbers;
}

export async function makeAvailable(
  { catalogue }: Pick<Store, 'catalogue'>,
  image: string,
  version: string,
  digest: string,
): Promise<void> {
  await catalogue.addEvidence({
    digest,
    kind: 'test',
    passed: true,
    summary: 'booted',
    details: {},
    by: 'test',
  });
  await catalogue.setVersionState(image, version, 'available', { by: 'test' });
}
