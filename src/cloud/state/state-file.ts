// Opens the file that holds the state of a cloud. It outlives the process: every call is one transaction, and a
// killed process leaves either all of it or nothing.
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { ErrorCode } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

type Row = Readonly<Record<string, SQLInputValue>>;
type Parameter = SQLInputValue;

export interface World {
  /** Runs `body` in one exclusive transaction. If it throws, everything is rolled back. */
  transaction<T>(body: () => T): T;
  /** Inside a transaction: reverts the writes of `body` if it throws, and no earlier ones. */
  attempt<T>(body: () => T): T;
  /** Sets its clock. Until then the time is the last one that is known. */
  goBy(clock: WorldClock): void;
  /** Inside a transaction: its time, which never goes back from one to the next. */
  time(): number;
  run(sql: string, ...parameters: Parameter[]): number;
  get<T>(sql: string, ...parameters: Parameter[]): T | undefined;
  all<T>(sql: string, ...parameters: Parameter[]): T[];
  insert(table: string, row: object): void;
  /** Sets columns of the rows that have these values in the columns of `key`. Returns how many there were. */
  update(table: string, key: object, columns: object): number;
  fact(name: string): string | undefined;
  setFact(name: string, value: string): void;
  /** Closes the file; a second call does nothing. */
  close(): void;
}

/** The clock that the world goes by. */
export interface WorldClock {
  now(): number;
  /** Another process was ahead: called so that this clock can catch up. */
  catchUp?(time: number): void;
}

/** A step from one layout of the file to a later one. */
export interface Migration {
  readonly to: number;
  readonly sql: string;
}

export interface WorldLayout {
  /** The name in errors: `The simulated world`. */
  readonly name: string;
  readonly unusable: ErrorCode;
  readonly schema: string;
  readonly version: number;
  /** By the number of the layout that they start from. A file with another number is not touched. */
  readonly migrations: Readonly<Record<number, Migration>>;
}

/** Opens the world, or makes an empty one. Without a file it lives and dies with the process. */
export function openWorldFile(file: string | undefined, layout: WorldLayout): World {
  const database = open(file, layout);
  const statements = new Map<string, StatementSync>();
  let clock: WorldClock = { now: () => 0 };
  let time = 0;

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function fact(name: string): string | undefined {
    return get<{ value: string }>('SELECT value FROM fact WHERE name = ?', name)?.value;
  }

  function setFact(name: string, value: string): void {
    run(
      'INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      name,
      value,
    );
  }

  function get<T>(sql: string, ...parameters: Parameter[]): T | undefined {
    return prepare(sql).get(...parameters) as T | undefined;
  }

  function run(sql: string, ...parameters: Parameter[]): number {
    return Number(prepare(sql).run(...parameters).changes);
  }

  function keepTime(): void {
    const latest = Number(fact('latest') ?? 0);
    time = Math.max(latest, Math.floor(clock.now()));
    if (time > latest) setFact('latest', String(time));
    else if (time > clock.now()) clock.catchUp?.(time);
  }

  return {
    transaction(body) {
      return translated(file, layout, () => {
        database.exec('BEGIN IMMEDIATE');
        try {
          keepTime();
          const result = body();
          database.exec('COMMIT');
          return result;
        } catch (thrown) {
          if (database.isTransaction) database.exec('ROLLBACK');
          throw thrown;
        }
      });
    },
    attempt(body) {
      prepare('SAVEPOINT attempt').run();
      try {
        return body();
      } catch (thrown) {
        if (database.isTransaction) prepare('ROLLBACK TO attempt').run();
        throw thrown;
      } finally {
        if (database.isTransaction) prepare('RELEASE attempt').run();
      }
    },
    goBy(worldClock) {
      clock = worldClock;
    },
    time: () => time,
    run,
    get,
    all: <T>(sql: string, ...parameters: Parameter[]) => prepare(sql).all(...parameters) as T[],
    insert(table, row) {
      const columns = Object.keys(row);
      const places = columns.map(() => '?');
      const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places.join(', ')})`;
      prepare(sql).run(...Object.values(row as Row));
    },
    update(table, key, columns) {
      const set = Object.keys(columns).map((column) => `${column} = ?`);
      const where = Object.keys(key).map((column) => `${column} = ?`);
      const values = [...Object.values(columns as Row), ...Object.values(key as Row)];
      return run(`UPDATE ${table} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`, ...values);
    },
    fact,
    setFact,
    close() {
      if (database.isOpen) database.close();
    },
  };
}

function open(file: string | undefined, layout: WorldLayout): DatabaseSync {
  return translated(file, layout, () => {
    if (file !== undefined) makeFile(file);
    const database = new DatabaseSync(file ?? ':memory:', { timeout: 10_000 });
    try {
      prepareFile(database, file, layout);
      return database;
    } catch (thrown) {
      database.close();
      throw thrown;
    }
  });
}

/** For its owner alone, from the first moment; SQLite gives the files beside it the same rights. */
function makeFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  closeSync(openSync(file, 'a', 0o600));
}

function prepareFile(database: DatabaseSync, file: string | undefined, layout: WorldLayout): void {
  if (file !== undefined) database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('BEGIN IMMEDIATE');
  const found = Number(Object.values(database.prepare('PRAGMA user_version').get() ?? {})[0]);
  if (found === 0) database.exec(layout.schema);
  const reached = found === 0 ? layout.version : migrate(database, found, layout);
  if (reached !== found) database.exec(`PRAGMA user_version = ${reached}`);
  database.exec('COMMIT');
  if (reached === layout.version) return;
  throw new ImagoError(
    layout.unusable,
    `${layout.name} in ${file} has layout ${found}, and this version of Imago reads layout ${layout.version}.`,
    { retryable: false },
  );
}

/** Applies the migrations that lead to the current layout, all or none. Returns the layout that it reached. */
function migrate(database: DatabaseSync, found: number, { migrations, version }: WorldLayout): number {
  const steps: Migration[] = [];
  for (let at = found; at !== version; ) {
    const step = migrations[at];
    if (step === undefined) return found;
    steps.push(step);
    at = step.to;
  }
  for (const { sql } of steps) database.exec(sql);
  return version;
}

/** SQLite's result codes that come from the file or its disk, and whether trying again can help. */
const fileTroubles = new Map([
  [5, true],
  [6, true],
  [8, false],
  [10, true],
  [11, false],
  [13, true],
  [14, false],
  [26, false],
]);

/** Turns file errors (a full disk, a damaged page) into an error that names the file. */
function translated<T>(file: string | undefined, { name, unusable }: WorldLayout, body: () => T): T {
  try {
    return body();
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    const retryable = canTryAgain(thrown);
    if (retryable === undefined) throw thrown;
    throw new ImagoError(unusable, `${name} in ${file ?? 'memory'} cannot be used: ${thrown.message}.`, {
      cause: thrown,
      retryable,
    });
  }
}

/** Returns whether a retry can help; `undefined` if the error does not come from the file. */
function canTryAgain(error: Error): boolean | undefined {
  if ('errcode' in error) return fileTroubles.get(Number(error.errcode) & 0xff);
  return 'syscall' in error ? false : undefined;
}
