// What the parts of the catalog work with.
import type { Database } from '../connection/database.ts';

export interface CatalogueContext {
  readonly database: Database;
  /** The time of a record that must stand after another one of its kind. */
  stamp(last?: string): string;
}
