// Signs statements about versions, so that a decision can be checked where there is no server.
import type { Json } from '../../domain/value/json.ts';

export interface StatementRequest {
  /** Of the version that the statement is about. */
  readonly digest: string;
  /** `NAME:VERSION`, for people. */
  readonly name: string;
  readonly predicateType: string;
  readonly predicate: Json;
}

export interface Attestor {
  /**
   * Whether there is a key to sign with. Throws `key-invalid` or `key-not-found` if keys were set up and none of them
   * can sign now, so that a decision that would stay unsigned is not made.
   */
  ready(): Promise<boolean>;
  /**
   * The statement (in-toto) in its signed envelope (DSSE), by the key that signs now; also attached to the version
   * where the local store has it. `undefined` if no key was ever made; else it throws as `ready` does. A second call re-signs, and
   * attaches nothing twice.
   */
  attest(request: StatementRequest): Promise<string | undefined>;
  /** Why the signature of an envelope is no longer valid; `undefined` if it is valid. */
  problem(envelope: string): Promise<string | undefined>;
}
