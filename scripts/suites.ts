// The suites of ./check, in the order they run: quick ones first.
import { advisoriesUnknown } from './advisories.ts';
import type { PreparationName } from './preparations.ts';

export interface Suite {
  readonly name: string;
  readonly what: string;
  readonly command: readonly string[];
  /** It takes a minute or two and needs nothing prepared. */
  readonly quick?: boolean;
  /** It runs tests, and tells which of them it left out. */
  readonly countsTests?: boolean;
  /** The slow work that is done before it starts, and does not count toward its limits. */
  readonly needs?: readonly PreparationName[];
  /** Why it cannot run on this machine; `undefined` when it can. */
  readonly lacks?: () => Promise<string | undefined>;
  /** It asks a service that this project does not run: if the service does not answer, CI skips it too. */
  readonly outside?: true;
}

function vitest(project: string, ...words: readonly string[]) {
  return { command: ['vitest', 'run', '--project', project, ...words], countsTests: true };
}

/** The words before a command that is for an ordinary user, whoever calls. */
const ordinary = ['node', 'scripts/as-ordinary-user.ts'];

/** Tests that compute: one for each core, where Vitest would leave one idle. */
const computing = '--maxWorkers=100%';

/** Tests that mostly wait for servers and deadlines: more of them at once than there are cores. */
const waiting = '--maxWorkers=4';

/** Tests that build images or start machines: an emulated one takes a core of its own. */
const heavy = '--maxWorkers=2';

/** An ordinary user may not write into the tree, where Vite would put its reading of the configuration. */
const machines = vitest('machines', heavy, '--configLoader=native');

export const suites: readonly Suite[] = [
  { name: 'lint', what: 'format, lint, and plain words', quick: true, command: ['npm', 'run', '-s', 'lint'] },
  { name: 'types', what: 'strict type check', quick: true, command: ['tsc', '--noEmit'] },
  {
    name: 'layers',
    what: 'who may import whom, and no cycles',
    quick: true,
    command: ['node', 'scripts/check-layers.ts'],
  },
  {
    name: 'unused',
    what: 'no unused files, exports or dependencies, and no rules that only tests call',
    quick: true,
    command: ['npm', 'run', '-s', 'unused'],
  },
  {
    name: 'errors',
    what: 'every code of the error catalogue is answered by something',
    quick: true,
    command: ['node', 'scripts/check-errors.ts'],
  },
  {
    name: 'generated',
    what: 'generated files are up to date',
    quick: true,
    command: ['node', 'scripts/generate.ts', '--check'],
  },
  {
    name: 'advisories',
    what: 'no known advisories on the lock file',
    quick: true,
    command: ['npm', 'audit', '--audit-level=moderate'],
    lacks: () => advisoriesUnknown(),
    outside: true,
  },
  { name: 'unit', what: 'rules and parts, nothing booted', quick: true, ...vitest('unit', computing) },
  {
    name: 'conformance',
    what: 'one suite over every engine and provider',
    ...vitest('conformance', waiting),
  },
  {
    name: 'integration',
    what: 'real PostgreSQL, daemon, sockets, packed package',
    ...vitest('integration', waiting),
    needs: ['azure-cli', 'build-cache', 'debian-root'],
  },
  {
    name: 'e2e',
    what: 'the whole product as a user sees it',
    ...vitest('e2e', heavy),
    needs: ['build-cache', 'kubernetes'],
  },
  {
    name: 'machines',
    what: 'real machines, started by an ordinary user',
    ...{ ...machines, command: [...ordinary, ...machines.command] },
    needs: ['build-cache', 'debian-root', 'kubernetes'],
  },
];
