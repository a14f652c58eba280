// What the exit code of an installer of Windows updates means, and what to do. Codes arrive signed or unsigned, decimal
// or hexadecimal. A code is no proof: the state of the package after the restart is.
import { ImagoError } from '../error/imago-error.ts';

export type InstallerOutcome = 'done' | 'restart' | 'restarted' | 'present' | 'failed' | 'spoilt';

export interface InstallerResult {
  /** `0x800F0823`. */
  readonly code: string;
  /** `spoilt`: the machine cannot be used further. */
  readonly outcome: InstallerOutcome;
  readonly meaning: string;
  readonly action: string;
}

type Known = readonly [outcome: InstallerOutcome, meaning: string, action: string];

const verify = 'Verify the state of its package.';
const startOver = 'Start over on a fresh machine; compare the update with the build of the base.';

const known: Readonly<Record<number, Known>> = {
  0: ['done', 'installed', verify],
  3010: ['restart', 'installed, wants a restart', `Restart, wait, and then: ${verify}`],
  2359301: ['restart', 'installed, wants a restart', `Restart, wait, and then: ${verify}`],
  1641: [
    'restarted',
    'installed, and it restarted the machine',
    'Attach to the job again after the restart.',
  ],
  2359302: ['present', 'installed already', verify],
  2149842967: [
    'failed',
    'not applicable',
    'Compare build and architecture; a newer update can have superseded it.',
  ],
  2148468766: [
    'failed',
    'not applicable',
    'Compare build and architecture; a newer update can have superseded it.',
  ],
  2148468771: [
    'failed',
    'needs a newer servicing stack',
    'Add the servicing stack update that CBS.log names.',
  ],
  2147956498: ['spoilt', 'the component store is damaged', startOver],
  2148468785: ['spoilt', 'a package that it builds on is missing', startOver],
  2148468767: ['spoilt', 'its payload is missing', startOver],
  2148469128: [
    'spoilt',
    'its delta or checkpoint does not fit',
    `Add the checkpoint that it needs. ${startOver}`,
  ],
  2148468792: [
    'spoilt',
    'its delta or checkpoint does not fit',
    `Add the checkpoint that it needs. ${startOver}`,
  ],
  2148469026: ['failed', 'an installer inside of it failed', 'Give the disk more room; read CBS.log.'],
  2147942512: ['failed', 'the disk is full', 'Raise `disk.size` in the recipe.'],
  2147942405: ['failed', 'refused for this account', 'Run it as SYSTEM.'],
};

/** The codes that have an answer, in the order of their numbers. */
export const installerCodes: readonly number[] = Object.keys(known).map(Number);

/** Every code has an answer: an unknown one is a failure. Text that is no number is as well. */
export function judgeInstaller(code: number | string): InstallerResult {
  const number = typeof code === 'number' ? code : Number(code.trim() === '' ? Number.NaN : code);
  const value = Number.isSafeInteger(number) ? number >>> 0 : 0xffff_ffff;
  const [outcome, meaning, action] = known[value] ?? [
    'failed',
    'an unknown code',
    'Read C:\\Windows\\Logs\\CBS\\CBS.log on the machine; keep it with --keep-failed.',
  ];
  return { code: `0x${value.toString(16).toUpperCase().padStart(8, '0')}`, outcome, meaning, action };
}

/** Throws `patch-failed` for a code that stands for a failure, with the next action as its hint. */
export function requireInstalled(label: string, code: number | string): InstallerResult {
  const result = judgeInstaller(code);
  if (result.outcome !== 'failed' && result.outcome !== 'spoilt') return result;
  throw new ImagoError('patch-failed', `${label} was not installed: ${result.code}, ${result.meaning}.`, {
    hint: result.action,
  });
}
