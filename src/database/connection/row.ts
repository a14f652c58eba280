// The columns of a table, derived from the type of its records: see `records.ts`.
import type { ColumnType, Generated } from 'kysely';

/** Set by the database, never by us. */
export type Given<T> = ColumnType<T, never, never>;

type Scalar = string | number | boolean | null | undefined;

type Snake<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : S;
export type ColumnName<Field extends string, N> = Field extends keyof N ? N[Field] & string : Snake<Field>;
export type Stored<T> = [T] extends [true] ? boolean : [T] extends [Scalar] ? T : string;
type IsOptional<R, Field extends keyof R> = Record<never, never> extends Pick<R, Field> ? true : false;
type Column<R, Field extends keyof R> =
  IsOptional<R, Field> extends true
    ? Exclude<R[Field], undefined> extends true
      ? Generated<boolean>
      : Stored<Exclude<R[Field], undefined>> | null
    : Field extends 'id'
      ? Stored<R[Field]> extends number
        ? Given<number>
        : Stored<R[Field]>
      : Stored<R[Field]>;

/** The columns of a record, for the table's type. A numeric id is set by the database. */
export type Row<R, N = unknown> = {
  -readonly [Field in keyof R & string as ColumnName<Field, N>]-?: Column<R, Field>;
};
