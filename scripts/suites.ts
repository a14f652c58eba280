// The suites of ./check, in the order they run: quick ones first.

export interface Suite {
  readonly name: string;
  readonly what: string;
  readonly command: readonly string[];
  /** It runs tests, and tells which of them it left out. */
  readonly countsTests?: boolean;
  /** Why it cannot run on this machine; `undefined` when it can. */
  readonly lacks?: () => Promise<string | undefined>;
}

function vitest(project: string, ...words: readonly string[]) {
  return { command: ['vitest', 'run', '--project', project, ...words], countsTests: true };
}

/** The words before a command that is for an ordinary user, whoever calls. */
const ordinary = ['node', 'scripts/as-ordinary-user.ts'];

/** Tests that mostly wait for servers and deadlines: more of them at once than there are cores. */
const waiting = '--maxWorkers=4';

/** Tests that build images or start machines: an emulated one takes a core of its own. */
const heavy = '--maxWorkers=2';

/** An ordinary user may not write into the tree, where Vite would put its reading of the configuration. */
const machines = vitest('machines', heavy, '--configLoader=native');

export const suites: readonly Suite[] = [
  { name: 'lint', what: 'format and lint', command: ['biome', 'check', '.'] },
  { name: 'types', what: 'strict type check', command: ['tsc', '--noEmit'] },
  {
    name: 'layers',
    what: 'who may import whom, and no cycles',
    command: ['node', 'scripts/check-layers.ts'],
  },
  {
    name: 'errors',
    what: 'every code of the error catalogue is answered by something',
    command: ['node', 'scripts/check-errors.ts'],
  },
  {
    name: 'generated',
    what: 'generated files are up to date',
    command: ['node', 'scripts/generate.ts', '--check'],
  },
  { name: 'unit', what: 'rules and parts, nothing booted', ...vitest('unit') },
  {
    name: 'conformance',
    what: 'one suite over every engine and provider',
    ...vitest('conformance', waiting),
  },
  {
    name: 'integration',
    what: 'real PostgreSQL, daemon, sockets, packed package',
    ...vitest('integration', waiting),
  },
  { name: 'e2e', what: 'the whole product as a user sees it', ...vitest('e2e', heavy) },
  {
    name: 'machines',
    what: 'real machines, started by an ordinary user',
    ...{ ...machines, command: [...ordinary, ...machines.command] },
  },
];
