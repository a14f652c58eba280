// Which number a new version gets. Numbers are never reused and grow within their line: the whole image, or one patch
// release under the Kubernetes policies, where a new build of an older patch release is normal.
//
// Days are those of UTC. The clock is not trusted: when it stands before the newest day that was used, `calendar`
// goes on counting on that day, and `date` refuses, because a day has one number only.
import { ImagoError } from '../error/imago-error.ts';
import { orList } from '../value/suggest.ts';
import {
  compareNumbers,
  formatNumber,
  isVersionNumber,
  largestPart,
  parseNumber,
  type VersionNumber,
} from './version-number.ts';

export const numberingPolicies = [
  'semver',
  'date',
  'calendar',
  'kubernetes',
  'kubernetes-build',
  'windows',
] as const;
export type NumberingPolicy = (typeof numberingPolicies)[number];

export const numberBumps = ['patch', 'minor', 'major'] as const;
export type NumberBump = (typeof numberBumps)[number];

export interface NumberingFacts {
  /** Every number that the image ever had, in any order, also of deleted versions and of other policies. */
  readonly used: readonly string[];
  readonly now: Date;
  /** Needed by the Kubernetes policies, e.g. `1.34.2` or `v1.34.2`. */
  readonly kubernetes?: string | undefined;
  /** Needed by `windows`: build and revision, like `20348.2113`. */
  readonly system?: string | undefined;
  /** Which part grows under `semver`; the others refuse it. Defaults to `patch`. */
  readonly bump?: NumberBump | undefined;
}

/** How many builds of one Kubernetes version `kubernetes-build` has room for. */
export const buildsPerPatch = 1000;

/** Whether versions of this policy are numbered after the Kubernetes version that they carry. */
export function needsKubernetes(policy: NumberingPolicy): boolean {
  return policy === 'kubernetes' || policy === 'kubernetes-build';
}

/**
 * The next number of the image. Throws `number-exhausted` when the policy has none left for this build, and
 * `input-invalid` when it lacks a fact or is given one that it has no use for.
 */
export function nextNumber(policy: NumberingPolicy, facts: NumberingFacts): string {
  if (facts.bump !== undefined && policy !== 'semver') {
    throw new ImagoError('input-invalid', `Numbers under the policy ${policy} cannot be raised by hand.`, {
      hint: `Leave the bump out; ${orList([...numberBumps])} are for the policy semver.`,
    });
  }
  const used = facts.used.map(parseNumber);
  const next = policies[policy](used, facts);
  if (!isVersionNumber(next)) {
    throw exhausted(`${formatNumber(next)} is too large for a version number.`, partHint(policy));
  }
  return formatNumber(next);
}

const policies: Readonly<
  Record<NumberingPolicy, (used: readonly VersionNumber[], facts: NumberingFacts) => VersionNumber>
> = {
  semver: nextSemver,
  date: nextDate,
  calendar: nextCalendar,
  kubernetes: nextKubernetes,
  'kubernetes-build': nextKubernetesBuild,
  windows: nextWindows,
};

function nextSemver(used: readonly VersionNumber[], { bump }: NumberingFacts): VersionNumber {
  const last = greatest(used);
  if (last === undefined) return { major: 1, minor: 0, patch: 0 };
  if (bump === 'major') return { major: last.major + 1, minor: 0, patch: 0 };
  if (bump === 'minor') return { major: last.major, minor: last.minor + 1, patch: 0 };
  return { ...last, patch: last.patch + 1 };
}

function nextDate(used: readonly VersionNumber[], { now }: NumberingFacts): VersionNumber {
  const { year, month, day } = readDay(now);
  const today = { major: year, minor: month, patch: day };
  const last = greatest(used);
  if (last === undefined || compareNumbers(today, last) > 0) return today;
  const number = formatNumber(today);
  throw exhausted(
    compareNumbers(today, last) === 0
      ? `${number} is used already, and the policy date has one number a day.`
      : `The clock says ${number}, but ${formatNumber(last)} is used already, and numbers only grow.`,
    'Use the policy `calendar`, which has many numbers a day and goes on when the clock is behind.',
  );
}

function nextCalendar(used: readonly VersionNumber[], { now }: NumberingFacts): VersionNumber {
  const { year, month, day } = readDay(now);
  const today = { major: year * 100 + month, minor: day, patch: 0 };
  const last = greatest(used);
  if (last === undefined || compareNumbers(today, last) > 0) return today;
  return { ...last, patch: last.patch + 1 };
}

function nextKubernetes(used: readonly VersionNumber[], facts: NumberingFacts): VersionNumber {
  const wanted = readKubernetes('kubernetes', facts);
  if (!used.some((number) => compareNumbers(number, wanted) === 0)) return wanted;
  throw exhausted(
    `${formatNumber(wanted)} is already used, and the policy kubernetes has one build for each Kubernetes version.`,
    `Use the policy \`kubernetes-build\`, which numbers ${buildsPerPatch} builds of each Kubernetes version.`,
  );
}

function nextKubernetesBuild(used: readonly VersionNumber[], facts: NumberingFacts): VersionNumber {
  const wanted = readKubernetes('kubernetes-build', facts);
  const first = { ...wanted, patch: wanted.patch * buildsPerPatch };
  const end = { ...first, patch: first.patch + buildsPerPatch };
  const last = greatest(
    used.filter((number) => compareNumbers(number, first) >= 0 && compareNumbers(number, end) < 0),
  );
  if (last === undefined) return first;
  const next = { ...last, patch: last.patch + 1 };
  if (next.patch < end.patch) return next;
  throw exhausted(
    `All ${buildsPerPatch} builds of Kubernetes ${formatNumber(wanted)} are used.`,
    'Build a newer patch release of Kubernetes, or create a new image.',
  );
}

/** Build, revision, and the day as yymmdd, or the next free number if that one is used. */
function nextWindows(used: readonly VersionNumber[], { now, system }: NumberingFacts): VersionNumber {
  if (system === undefined) {
    throw new ImagoError('input-invalid', 'The policy windows needs the build of the system.', {
      hint: 'Set `windows.base.build` in the recipe, or choose another numbering policy.',
    });
  }
  const { major, minor } = parseNumber(`${system}.0`);
  const { year, month, day } = readDay(now);
  const last = greatest(used.filter((number) => number.major === major && number.minor === minor));
  const today = { major, minor, patch: ((year % 100) * 100 + month) * 100 + day };
  return last === undefined || last.patch < today.patch ? today : { ...last, patch: last.patch + 1 };
}

function readKubernetes(policy: NumberingPolicy, { kubernetes }: NumberingFacts): VersionNumber {
  if (kubernetes === undefined) {
    throw new ImagoError('input-invalid', `The policy ${policy} needs a Kubernetes version.`, {
      hint: 'Set `kubernetes` in the recipe, or choose another numbering policy.',
    });
  }
  return parseNumber(kubernetes.replace(/^v/, ''));
}

/** The day of a clock. One that stands before 1970 or after 9999 makes no number. */
function readDay(now: Date): { readonly year: number; readonly month: number; readonly day: number } {
  const year = now.getUTCFullYear();
  if (!(year >= 1970 && year <= 9999)) {
    throw new ImagoError(
      'input-invalid',
      'The clock stands at a time that no version can be numbered after.',
      {
        hint: 'Set the clock of this machine.',
      },
    );
  }
  return { year, month: now.getUTCMonth() + 1, day: now.getUTCDate() };
}

function greatest(numbers: readonly VersionNumber[]): VersionNumber | undefined {
  let found: VersionNumber | undefined;
  for (const number of numbers) {
    if (found === undefined || compareNumbers(number, found) > 0) found = number;
  }
  return found;
}

function exhausted(message: string, hint: string): ImagoError {
  return new ImagoError('number-exhausted', message, { hint });
}

function partHint(policy: NumberingPolicy): string {
  return policy === 'semver'
    ? `Raise the minor or major number instead; no part may pass ${largestPart}.`
    : `No part may pass ${largestPart}; begin a new image.`;
}
