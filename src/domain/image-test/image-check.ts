// The checks that every image goes through before it is available: what they are given and what they answer. All of
// them are pure; the operation that tests images reads disks and runs scripts for them.
import type { NodeReport } from '../node/report.ts';
import type { RecipeBudgets, RecipeExpect } from '../recipe/recipe.ts';

export interface Verdict {
  readonly passed: boolean;
  /** What was found, in a few words. */
  readonly detail: string;
}

/** `not-run` never counts as passed where a real machine could have answered. */
export type CheckState = 'passed' | 'failed' | 'not-run';

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  /** `disk`, a machine's name, or `both`. */
  readonly on: string;
  readonly state: CheckState;
  readonly detail: string;
  /** Only with `failed`: what a person should do. */
  readonly remedy?: string;
}

/** What every check has. Ids never change: evidence and policies name them. */
export interface CheckHead {
  readonly id: string;
  /** What is so when it passes. */
  readonly title: string;
  readonly remedy: string;
}

/** The part of a disk's inventory that checks look at. */
export interface DiskFacts {
  readonly release: Readonly<Record<string, string>>;
  readonly kernel: { readonly version: string; readonly installed: readonly string[] };
  readonly sizes: { readonly diskBytes: number; readonly fileBytes: number };
  readonly packages: readonly {
    readonly name: string;
    readonly version: string;
    readonly architecture: string;
  }[];
  readonly files: readonly DiskFile[];
  readonly units: readonly { readonly name: string; readonly state: string }[];
  readonly settings: {
    readonly sysctl: Readonly<Record<string, string>>;
    readonly modules: readonly string[];
    readonly kernelArguments: readonly string[];
    readonly users: readonly { readonly name: string; readonly uid: number; readonly hasPassword: boolean }[];
  };
  /** Absent for Windows, and in inventories of an earlier Imago. */
  readonly boot?: {
    readonly builtIn: readonly string[];
    readonly modules: readonly string[];
    readonly initrd?: readonly string[];
    readonly namedCards: readonly string[];
  };
  readonly containerImages: readonly {
    readonly name: string;
    readonly digest: string;
    readonly isPinned?: boolean;
  }[];
  /** Absent for a disk without an agent, and in inventories of an earlier Imago. */
  readonly agent?: {
    readonly abilities: readonly string[];
    readonly components: Readonly<Record<string, readonly string[]>>;
    readonly hidesComponents?: true;
  };
}

export interface DiskFile {
  readonly path: string;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly sha256?: string;
  /** A symlink's target. */
  readonly link?: string;
  readonly package?: string;
}

export interface DiskCheck extends CheckHead {
  judge(disk: DiskFacts, budgets: RecipeBudgets, expect: RecipeExpect): Verdict;
}

/** What is known of a machine from outside when its checks are judged. */
export interface MachineFacts {
  readonly name: string;
  /** Absent when the disk could not be read here. */
  readonly disk?: DiskFacts | undefined;
  readonly report?: NodeReport | undefined;
  readonly budgets: RecipeBudgets;
  /** By the clock of the daemon, when the scripts ended. */
  readonly now: number;
  /** From the start of the machine until it said `ready`. */
  readonly readyAfterMs?: number | undefined;
  /** sha256 of the config that it was given, in hexadecimal. */
  readonly configDigest?: string | undefined;
  /** Texts of that config that nobody may be told. */
  readonly secrets?: readonly string[];
  /** What the recipe lets pass. */
  readonly expect?: RecipeExpect;
  /** It was examined before, and then started again. */
  readonly isRestarted?: boolean;
}

export interface ProbeAnswer {
  readonly exitCode: number;
  /** Both of its streams, without the last line's end. */
  readonly output: string;
}

export interface MachineCheck extends CheckHead {
  /** How long the script may take; a minute when absent. */
  readonly timeoutMs?: number;
  /** A restart cannot change it: it is asked once. */
  readonly once?: true;
  /** Run by the machine's shell as root. `undefined`: the image has nothing that the check could concern. */
  script(facts: MachineFacts): string | undefined;
  judge(answer: ProbeAnswer, facts: MachineFacts): Verdict;
}

/** Judged from what was known of the machine outside, with no script. */
export interface ReportCheck extends CheckHead {
  judge(facts: MachineFacts): Verdict | undefined;
}

/** Compares the answers of two machines, or of one machine before and after a restart, to the same script. */
export interface CompareCheck extends CheckHead {
  script(facts: MachineFacts): string | undefined;
  judge(one: ProbeAnswer, other: ProbeAnswer): Verdict;
}

export function pass(detail: string): Verdict {
  return { passed: true, detail };
}

export function fail(detail: string): Verdict {
  return { passed: false, detail };
}

const mostNamed = 5;

/** Passes when the list is empty; else names the first few. */
export function passWhenNone(found: readonly string[], good: string): Verdict {
  if (found.length === 0) return pass(good);
  const rest = found.length - mostNamed;
  return fail([...found.slice(0, mostNamed), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', '));
}

/** The command ended with 0 and said exactly this. */
export function passWhenSays({ exitCode, output }: ProbeAnswer, wanted: string): Verdict {
  const said = output.trim();
  if (exitCode === 0 && said === wanted) return pass(said);
  return fail(said === '' ? `ended with ${exitCode}` : said.slice(0, 200));
}

/** The command ended with 0. */
export function passWhenEnds(answer: ProbeAnswer, good: string): Verdict {
  return whenEnded(answer, () => pass(good));
}

/** What a command said counts only when it ended with 0: one that was cut off has found nothing wrong yet. */
export function whenEnded(
  { exitCode, output }: ProbeAnswer,
  judge: (said: readonly string[]) => Verdict,
): Verdict {
  return exitCode === 0 ? judge(lines(output)) : fail(lastLine(output) || `ended with ${exitCode}`);
}

export function lines(output: string): readonly string[] {
  return output.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

function lastLine(output: string): string {
  return (lines(output).at(-1) ?? '').slice(0, 200);
}

export function hasUnit(disk: DiskFacts | undefined, name: string): boolean {
  return disk?.units.some((unit) => unit.name === name && unit.state !== 'masked') === true;
}

export function hasFile(disk: DiskFacts | undefined, path: string): boolean {
  return disk?.files.some((file) => file.path === path) === true;
}

/** For scripts: a text as one word of the shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
