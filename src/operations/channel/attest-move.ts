// Signs what a promotion decided, so that it can be verified without a server: which digest went where, who requested
// it, the decision of every gate, and the tested combination. Without a key there is no statement; signing that is set
// up and fails is an error.
import { movePredicateType, moveStatement } from '../../domain/channel/statement.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { MoveAttestation } from '../../ports/database/promotion.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { NamedStep } from '../common/operation.ts';

/** After the step that moved a channel. */
export const attestStep: NamedStep<
  'attest',
  unknown,
  { readonly move: { readonly move: number } },
  { readonly signed: boolean }
> = {
  name: 'attest',
  do: async (run) => ({ signed: await attestMove(run, run.result('move').move) }),
};

type AttestDeps = Pick<OperationDeps, 'attestor' | 'catalogue' | 'promotion'>;

export interface KnownStatement {
  readonly attestation: MoveAttestation;
  /** Why its signature is no longer valid; absent if it is valid. */
  readonly problem?: string;
  /** The statements that it replaces, newest first. */
  readonly earlier: readonly MoveAttestation[];
}

/** The current statement of a move; `undefined` if it was never signed. */
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
 * Throws if the next move of the channel would stay unsigned although signing is set up: as the attestor does, and with
 * `key-not-found` if the last promotion to the channel was signed and all keys are gone, as after a restore without them.
 */
export async function requireSigning(deps: AttestDeps, image: string, channel: string): Promise<void> {
  if (deps.attestor === undefined || (await deps.attestor.ready())) return;
  for await (const { id, policy } of allPages(
    (query) => deps.catalogue.listMoves(image, channel, query),
    20,
  )) {
    if (policy === undefined) continue;
    if ((await deps.promotion.listAttestations(id)).length === 0) return;
    throw new ImagoError(
      'key-not-found',
      `Move ${id} of ${image}:${channel} was signed, and there is no key to sign the next one.`,
      {
        hint: 'Copy `keys` back to the state directory of the daemon, or create a key with `imago keys create`.',
      },
    );
  }
}

/**
 * Returns `false` if there is no key, or the move emptied the channel. A statement with a valid signature stays; one
 * whose key was revoked is preserved, and another replaces it. A second call changes nothing.
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
