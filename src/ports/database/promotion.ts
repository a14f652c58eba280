// What promotion records in addition to the catalog: policies, units that were tested together, and signed statements.
// All of it is retained permanently. Every write is one transaction, refused with `owner-stale` as in the catalog.
import type { MoveAttestation } from '../../domain/channel/attestation.ts';
import type { ComposedRecord, ComposedVersion } from '../../domain/evidence/record.ts';
import type { PolicyRecord } from '../../domain/policy/schema.ts';
import type { Page, PageQuery } from '../page.ts';

export type { MoveAttestation } from '../../domain/channel/attestation.ts';
export type { ComposedRecord, ComposedVersion } from '../../domain/evidence/record.ts';
export type { PolicyRecord } from '../../domain/policy/schema.ts';

export type NewPolicy = Omit<PolicyRecord, 'id' | 'at'>;

export interface Promotion {
  /** The active policy; `undefined` before the first. */
  getPolicy(): Promise<PolicyRecord | undefined>;
  /** Activates it. The policy that is already active changes nothing, regardless of the caller. */
  setPolicy(policy: NewPolicy): Promise<PolicyRecord>;
  /** Newest first. */
  listPolicies(query: PageQuery): Promise<Page<PolicyRecord>>;

  /** Records a unit under its id. The same again changes nothing. */
  addComposed(id: string, composed: ComposedVersion): Promise<ComposedRecord>;
  getComposed(id: string): Promise<ComposedRecord | undefined>;
  /** All units that a digest was tested in, newest first. */
  listComposed(digest: string): Promise<readonly ComposedRecord[]>;

  /**
   * Keeps the statement of a move, after the one that `after` is the id of. A move whose newest is another one by now
   * keeps that: of two that sign concurrently, both get the first one.
   */
  addAttestation(attestation: Omit<MoveAttestation, 'id' | 'at'>, after?: number): Promise<MoveAttestation>;
  /** All that a move ever had, newest first: the first is valid. */
  listAttestations(move: number): Promise<readonly MoveAttestation[]>;
}
