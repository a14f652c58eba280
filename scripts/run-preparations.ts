// Runs preparations in the background while suites run that do not need them: in sequence, at a low priority, each
// with its own time limit, and with a line of progress every minute.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Preparation, type PreparationName, preparations } from './preparations.ts';

export interface RunningPreparations {
  /** Waits for these, and returns why they are not ready; `undefined` if they are. */
  ready(names: readonly PreparationName[]): Promise<string | undefined>;
  /** Stops what still runs. */
  end(): void;
}

export interface PreparationOptions {
  readonly log: (line: string) => void;
  readonly command?: (name: PreparationName) => readonly [string, ...string[]];
  readonly limitOf?: (preparation: Preparation) => number;
  readonly reportEveryMs?: number;
}

const script = `${import.meta.dirname}/prepare-tests.ts`;

export function startPreparations(
  names: readonly PreparationName[],
  options: PreparationOptions,
): RunningPreparations {
  const { log, limitOf = ({ limitMs }) => limitMs, reportEveryMs = 60_000 } = options;
  const command =
    options.command ?? ((name) => ['nice', '-n', '10', process.execPath, script, name] as const);
  let running: ChildProcess | undefined;
  let isOver = false;

  function stop(): void {
    if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) return;
    try {
      process.kill(-running.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  async function prepare(name: PreparationName): Promise<string | undefined> {
    if (isOver) return `${name} was not prepared`;
    const say = (line: string) => log(`[${name}] ${line}`);
    const limitMs = limitOf(preparations[name]);
    const [program, ...args] = command(name);
    const start = performance.now();
    const minutes = () => `${((performance.now() - start) / 60_000).toFixed(1)} min`;
    say(preparations[name].what);
    // In its own process group, so that compilers end with it.
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    running = child;
    const last: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        last.splice(0, Math.max(0, last.length - 4));
        last.push(line);
        say(line);
      });
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      stop();
    }, limitMs);
    const report = setInterval(
      () => say(`${minutes()} so far, at most ${limitMs / 60_000} min`),
      reportEveryMs,
    );
    const code = await new Promise<number | null>((resolve) => {
      child.on('error', (error) => {
        last.push(error.message);
        resolve(127);
      });
      child.on('close', resolve);
    });
    clearTimeout(limit);
    clearInterval(report);
    if (code === 0) {
      say(`ready after ${minutes()}`);
      return undefined;
    }
    const why = isLate ? `took longer than ${limitMs / 60_000} min` : `failed: ${last.join(' ')}`;
    say(why);
    return `preparing ${name} ${why}; run it alone with: node scripts/prepare-tests.ts ${name}`;
  }

  const results = new Map<PreparationName, Promise<string | undefined>>();
  let turn: Promise<unknown> = Promise.resolve();
  for (const name of names) {
    const result = turn.then(() => prepare(name));
    results.set(name, result);
    turn = result;
  }
  return {
    async ready(wanted) {
      const problems = await Promise.all(wanted.map((name) => results.get(name)));
      return problems.find((problem) => problem !== undefined);
    },
    end() {
      isOver = true;
      stop();
    },
  };
}
