// Problems that a person must see. Each belongs to a source, the check that finds it.
import type { FoundProblem, ProblemRecord } from '../../domain/problem/problem.ts';
import type { Page, PageQuery } from '../page.ts';

export interface ProblemQuery extends PageQuery {
  readonly subject?: string | undefined;
  /** Includes resolved ones. */
  readonly all?: boolean;
}

export interface Problems {
  /** Opens the problem, or counts it if it is open. An event reports the opening only. */
  report(source: string, found: FoundProblem): Promise<void>;
  /** Reports all that a source finds now, and resolves its other open problems. */
  sync(source: string, found: readonly FoundProblem[]): Promise<void>;
  /** Resolves the open problems that a source reported about a subject. */
  repaired(source: string, subject: string): Promise<void>;
  /** Opens a problem for each operation that could not be undone, and resolves those whose retry succeeded. */
  syncOperations(): Promise<void>;
  openOf(source: string): Promise<readonly ProblemRecord[]>;
  /** Newest first. */
  list(query: ProblemQuery): Promise<Page<ProblemRecord>>;
  get(id: number): Promise<ProblemRecord | undefined>;
  /** Returns `undefined` if there is no such problem. A problem that is resolved keeps its first reason. */
  resolve(id: number, by: string, reason: string): Promise<ProblemRecord | undefined>;
  /** Deletes problems that were resolved before this time, unless their operation still exists. */
  trim(before: string): Promise<void>;
}
