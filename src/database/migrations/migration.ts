// One step in the life of the schema. Forward only: a released migration never changes, a mistake is repaired by
// the next one. Plain SQL, so that what it does cannot change with the code around it.

export interface Migration {
  /** Its place in the order; the first is 1 and there are no gaps. */
  readonly number: number;
  readonly name: string;
  /** Any number of statements, all of which PostgreSQL can roll back. */
  readonly sql: string;
}
