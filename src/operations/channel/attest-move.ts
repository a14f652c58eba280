// Signs what a promotion decided, so that it can be checked with no server: which digest went where, who asked,
// what every gate said, and the unit that was tested. Where nothing is signed there is no statement; signing that is
// set up and does not work is an error.

import { movePredicateType, moveStatement } from '../../domain/channel/statement.ts';
import type { MoveAttestation } from '../../ports/database/promotion.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';

/** After the step that moved a channel, which left the move's id. */
export function attestMoveStep<Input>(deps: OperationDeps, after: string): WorkStep<Input> {
  const moveOf = (context: StepContext<Input>) =>
    requireResult<{ readonly move: number }>(context, after).move;
  return {
    name: 'attest',
    do: async (context) => ({ signed: await attestMove(deps, moveOf(context)) }),
  };
}

type AttestDeps = Pick<OperationDeps, 'attestor' | 'catalogue' | 'promotion'>;

export interface KnownStatement {
  readonly attestation: MoveAttestation;
  /** Why its signature does not count any more; absent when it does. */
  readonly problem?: string;
  /** Those that it stands in place of, newest first. */
  readonly earlier: readonly MoveAttestation[];
}

/** The statement of a move that is in force; `undefined` when nobody ever signed it. */
export async function findStatement(
  { attestor, promotion }: Pick<AttestDeps, 'attestor' | 'promotion'>,
  id: number,
): Promise<KnownStatement | undefined> {
  const [attestation, ...earlier] = await promotion.listAttestations(id);
  if (attestation === undefined) return undefined;
  const problem = await attestor?.problem(attestation.envelope);
  return { attestation, earlier, ...(problem === undefined ? {} : { problem }) };
}

/**
 * `false` when there is nothing to sign with, or the move emptied the channel. A statement whose signature counts stays;
 * one whose key was revoked is kept, and another stands in its place. Again changes nothing.
 */
export async function attestMove(deps: AttestDeps, id: number): Promise<boolean> {
  const known = await findStatement(deps, id);
  if (known !== undefined && known.problem === undefined) return true;
  const move = await deps.catalogue.getMove(id);
  if (deps.attestor === undefined || move?.to === undefined || move.toDigest === undefined) return false;
  const composed =
    move.policy?.composed === undefined ? undefined : await deps.promotion.getComposed(move.policy.composed);
  const evidence = await deps.catalogue.listEvidence(move.toDigest);
  const { simulated = false } = (await deps.catalogue.getVersion(move.image, move.to)) ?? {};
  const envelope = await deps.attestor.attest({
    digest: move.toDigest,
    name: `${move.image}:${move.to}`,
    predicateType: movePredicateType,
    predicate: moveStatement(move, evidence, composed, simulated),
  });
  if (envelope === undefined) return false;
  await deps.promotion.addAttestation(
    { move: id, digest: move.toDigest, predicateType: movePredicateType, envelope },
    known?.attestation.id,
  );
  return true;
}
