// The states of a version, and which may follow which. Nothing becomes available without a passed test of
// its own digest, whoever asks (rule 4).
import { ImagoError } from '../error/imago-error.ts';
import { type Evidence, testsPassed } from '../evidence/evidence.ts';

export const versionStates = ['candidate', 'available', 'deprecated', 'withdrawn', 'deleted'] as const;
export type VersionState = (typeof versionStates)[number];

const next: Readonly<Record<VersionState, readonly VersionState[]>> = {
  candidate: ['available', 'withdrawn', 'deleted'],
  available: ['deprecated', 'withdrawn'],
  deprecated: ['available', 'withdrawn'],
  withdrawn: ['candidate', 'available', 'deprecated', 'deleted'],
  deleted: [],
};

/** The states that may follow. From `withdrawn` all but `deleted` are a restore: see `restoredState`. */
export function allowedNext(state: VersionState): readonly VersionState[] {
  return next[state];
}

/** Whether new nodes may be made from a version in this state. */
export function isUsable(state: VersionState): boolean {
  return state !== 'withdrawn' && state !== 'deleted';
}

/** Throws `version-withdrawn` when nothing may be made from the version any more. */
export function requireUsable({
  image,
  version,
  state,
}: Pick<StatefulVersion, 'image' | 'version' | 'state'>): void {
  if (isUsable(state)) return;
  throw new ImagoError('version-withdrawn', `${image}:${version} is ${state}.`, {
    hint: `See why with \`imago image show ${image}:${version}\`, and name another version.`,
  });
}

/** As much of a version as its state's rules look at. */
export interface StatefulVersion {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly state: VersionState;
  readonly withdrawnFrom?: RestorableState | undefined;
}

/** The states that a withdrawn version can be restored to. */
export const restorableStates = ['candidate', 'available', 'deprecated'] as const;
export type RestorableState = (typeof restorableStates)[number];

export interface StateChange {
  /** Needed for `withdrawn`. */
  readonly reason?: string;
  /** All that is stored for the version's digest; needed when it becomes available. */
  readonly evidence?: readonly Evidence[];
}

/**
 * `true` when the change is to be made, `false` when the version is in that state already. Throws
 * `version-state`, `version-untested` or `reason-missing`.
 */
export function checkStateChange(
  version: StatefulVersion,
  to: VersionState,
  change: StateChange = {},
): boolean {
  if (version.state === to) return false;
  const name = `${version.image}:${version.version}`;
  if (!allowedNext(version.state).includes(to)) {
    throw new ImagoError('version-state', `${name} is ${version.state} and cannot become ${to}.`, {
      hint: stateHint(version.state, name),
    });
  }
  if (version.state === 'withdrawn' && to !== 'deleted' && to !== restoredState(version)) {
    throw new ImagoError('version-state', `${name} can only be restored to ${restoredState(version)}.`);
  }
  if (to === 'available' && !testsPassed(version.digest, change.evidence ?? [])) {
    throw new ImagoError('version-untested', `No passed test of ${name} is stored for its digest.`, {
      hint: `Run \`imago test ${name}\`.`,
    });
  }
  if (to === 'withdrawn' && (change.reason ?? '').trim() === '') {
    throw new ImagoError('reason-missing', `${name} cannot be withdrawn without a reason.`);
  }
  return true;
}

/** What a withdrawn version becomes again. One whose earlier state is not known must be tested anew. */
export function restoredState(version: Pick<StatefulVersion, 'withdrawnFrom'>): RestorableState {
  return version.withdrawnFrom ?? 'candidate';
}

function stateHint(state: VersionState, name: string): string {
  const allowed = allowedNext(state);
  if (allowed.length === 0) return 'A deleted version stays deleted, and its number is never used again.';
  if (state === 'withdrawn') return `Restore it first with \`imago image restore ${name}\`.`;
  return `From ${state} it can become ${allowed.join(', ')}.`;
}
