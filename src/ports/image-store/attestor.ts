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
   * The statement (in-toto) in its signed envelope (DSSE), by the key that signs now; also attached to the version
   * where the local store has it. `undefined` when there is no key to sign with. A second call signs anew, and
   * attaches nothing twice.
   */
  attest(request: StatementRequest): Promise<string | undefined>;
  /** Why the signature of an envelope does not count any more; `undefined` when it does. */
  problem(envelope: string): Promise<string | undefined>;
}
