// Derives the rows of a table from the schema of its records, so that a record is declared once. A field is its column
// in snake case, unless `names` has another; an empty column is an absent field; a mark such as `simulated: true` is a
// boolean column; lists, objects, and any JSON are JSON columns. These are texts on both sides, so that a stored `null`
// and no value stay distinct.
import { type Insertable, type Kysely, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import type * as z from 'zod';
import type { Page, PageQuery } from '../../ports/page.ts';
import { readCursor, rowsToRead, toPage } from './page.ts';
import type { ColumnName, Stored } from './row.ts';
import type { Tables } from './tables.ts';

type Names = Readonly<Record<string, string>>;

/** The columns of some fields, to write them. */
type Columns<R, N> = {
  -readonly [Field in keyof R & string as ColumnName<Field, N>]-?: [Exclude<R[Field], undefined>] extends [
    true,
  ]
    ? boolean
    : undefined extends R[Field]
      ? Stored<Exclude<R[Field], undefined>> | null
      : Stored<R[Field]>;
};

type Changes<T extends keyof Tables> = {
  [C in keyof Updateable<Tables[T]>]?: Updateable<Tables[T]>[C] | RawBuilder<unknown>;
};

/** Values that columns have. A list: any of them. */
type Where<T extends keyof Tables> = {
  readonly [C in keyof Selectable<Tables[T]>]?:
    | Selectable<Tables[T]>[C]
    | readonly Selectable<Tables[T]>[C][];
};

interface PageOptions<T extends keyof Tables> {
  readonly where?: Where<T>;
  /** The columns to order by, which identify a row, with the types of their values. */
  readonly by: { readonly [C in keyof Tables[T]]?: 'string' | 'number' };
  readonly newestFirst?: boolean;
}

export interface Records<T extends keyof Tables, R, N> {
  /** The record of a row that a query of its own has read. Columns that are not fields are ignored. */
  of(row: Selectable<Tables[T]>): R;
  /** The columns of a new record. Optional fields that are absent are empty columns. */
  row<F extends Partial<R>>(record: F): Columns<F, N>;
  /** Returns any one, if several match. `lock`: other writers of the row wait until the transaction ends. */
  find(tables: Kysely<Tables>, where: Where<T>, lock?: 'lock'): Promise<R | undefined>;
  all(
    tables: Kysely<Tables>,
    where: Where<T>,
    ...by: readonly (keyof Tables[T] & string)[]
  ): Promise<readonly R[]>;
  /** The one with the largest value in this column. */
  last(tables: Kysely<Tables>, where: Where<T>, by: keyof Tables[T] & string): Promise<R | undefined>;
  page(tables: Kysely<Tables>, query: PageQuery, options: PageOptions<T>): Promise<Page<R>>;
  insert(tables: Kysely<Tables>, row: Insertable<Tables[T]>): Promise<R>;
  /** Returns `undefined` if a row with its key exists, which stays as it is. */
  insertIfNew(tables: Kysely<Tables>, row: Insertable<Tables[T]>): Promise<R | undefined>;
  /** Replaces the row that has the same key. */
  put(
    tables: Kysely<Tables>,
    row: Insertable<Tables[T]>,
    ...key: readonly (keyof Tables[T] & string)[]
  ): Promise<R>;
  /** Returns `undefined` if none matches. */
  update(tables: Kysely<Tables>, where: Where<T>, changes: Changes<T>): Promise<R | undefined>;
  /** Returns whether there was one. */
  delete(tables: Kysely<Tables>, where: Where<T>): Promise<boolean>;
}

export function records<
  T extends keyof Tables,
  Shape extends z.ZodRawShape,
  const N extends Names = Record<never, string>,
>(table: T, schema: z.ZodObject<Shape>, names?: N): Records<T, z.output<z.ZodObject<Shape>>, N> {
  type R = z.output<z.ZodObject<Shape>>;
  type Found = Selectable<Tables[T]>;
  const from = sql.table(`imago.${table}`);
  const fields = Object.entries(schema.shape).map(([field, type]) => ({
    ...{ field, ...kindOf(type as z.ZodType) },
    column: names?.[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));

  function of(row: Found): R {
    const record: Record<string, unknown> = {};
    for (const { field, column, kind } of fields) {
      const value = row[column as keyof Found];
      if (value === null || value === undefined || (kind === 'mark' && value !== true)) continue;
      record[field] = kind === 'json' ? JSON.parse(value as string) : value;
    }
    return record as R;
  }

  async function select(tables: Kysely<Tables>, where: Where<T>, rest: RawBuilder<unknown>) {
    const found = await sql<Found>`select * from ${from} where ${matches(where)} ${rest}`.execute(tables);
    return found.rows;
  }

  async function insert(tables: Kysely<Tables>, row: Insertable<Tables[T]>, rest: RawBuilder<unknown>) {
    const columns = Object.keys(row).map((column) => sql.ref(column));
    const found = await sql<Found>`insert into ${from} (${sql.join(columns)})
      values (${sql.join(Object.values(row))}) ${rest} returning *`.execute(tables);
    return found.rows.map(of)[0];
  }

  return {
    of,
    row<F extends Partial<R>>(record: F) {
      const row: Record<string, unknown> = {};
      for (const { field, column, kind, optional } of fields) {
        const value = (record as Record<string, unknown>)[field];
        if (value !== undefined) row[column] = kind === 'json' ? JSON.stringify(value) : value;
        else if (optional) row[column] = kind === 'mark' ? false : null;
      }
      return row as Columns<F, N>;
    },
    find: async (tables, where, lock) =>
      (await select(tables, where, sql`limit 1 ${lock === undefined ? sql`` : sql`for no key update`}`)).map(
        of,
      )[0],
    async all(tables, where, ...by) {
      const order = sql.join(by.map((column) => sql.ref(column)));
      return (await select(tables, where, by.length === 0 ? sql`` : sql`order by ${order}`)).map(of);
    },
    last: async (tables, where, by) =>
      (await select(tables, where, sql`order by ${sql.ref(by)} desc limit 1`)).map(of)[0],
    async page(tables, query, { where = {}, by, newestFirst = false }) {
      const columns = Object.keys(by);
      const kinds = Object.values(by) as ('string' | 'number')[];
      const keys = readCursor<(string | number)[]>(table, query, kinds);
      const refs = sql.join(columns.map((column) => sql.ref(column)));
      const compare = newestFirst ? sql`<` : sql`>`;
      const after = keys === undefined ? sql`` : sql`and (${refs}) ${compare} (${sql.join(keys)})`;
      const order = columns.map((column) => sql`${sql.ref(column)} ${newestFirst ? sql`desc` : sql`asc`}`);
      const rest = sql`${after} order by ${sql.join(order)} limit ${rowsToRead(query)}`;
      const rows = await select(tables, where, rest);
      const keysOf = (row: Found) => columns.map((column) => row[column as keyof Found] as string | number);
      return toPage(table, query, rows, keysOf, of);
    },
    insert: async (tables, row) => (await insert(tables, row, sql``)) as R,
    insertIfNew: (tables, row) => insert(tables, row, sql`on conflict do nothing`),
    async put(tables, row, ...key) {
      const refs = sql.join(key.map((column) => sql.ref(column)));
      return (await insert(tables, row, sql`on conflict (${refs}) do update set ${assignments(row)}`)) as R;
    },
    async update(tables, where, changes) {
      const found = await sql<Found>`update ${from} set ${assignments(changes)} where ${matches(where)}
        returning *`.execute(tables);
      return found.rows.map(of)[0];
    },
    async delete(tables, where) {
      const gone = await sql`delete from ${from} where ${matches(where)}`.execute(tables);
      return (gone.numAffectedRows ?? 0n) > 0n;
    },
  };
}

function matches(where: object): RawBuilder<unknown> {
  const conditions = Object.entries(where).map(([column, value]) =>
    value === null
      ? sql`${sql.ref(column)} is null`
      : sql`${sql.ref(column)} = ${Array.isArray(value) ? sql`any(${value})` : value}`,
  );
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

function assignments(changes: object): RawBuilder<unknown> {
  return sql.join(Object.entries(changes).map(([column, value]) => sql`${sql.ref(column)} = ${value}`));
}

const scalars: readonly string[] = ['string', 'number', 'boolean', 'enum', 'literal'];

function kindOf(type: z.ZodType): { readonly kind: 'scalar' | 'mark' | 'json'; readonly optional: boolean } {
  let { def } = type;
  const optional = def.type === 'optional';
  while ('innerType' in def) def = (def.innerType as z.ZodType).def;
  if (!scalars.includes(def.type)) return { kind: 'json', optional };
  const isMark = def.type === 'literal' && (def as z.core.$ZodLiteralDef<true>).values.includes(true);
  return { kind: isMark ? 'mark' : 'scalar', optional };
}
