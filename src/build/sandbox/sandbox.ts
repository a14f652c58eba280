// Runs package tools on a root file system apart from the host: its own ids, no network, nothing of the host's tree.
// Everything in the sandbox ends when Imago ends, however it ends.
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { lineSplitter } from '../../host/process/line-splitter.ts';
import { runTool, startProcess, streamTool, systemPath } from '../../host/process/run-tool.ts';
import { createGroup, findGroupParent } from './control-group.ts';
import { defaultLimits, type SandboxLimits, type Usage, watchLimits } from './limits.ts';
import { findNamespace, type Namespace } from './namespace.ts';
import { firstStage, type Stage } from './stages.ts';

/**
 * A script for the host's shell in the first stage, with `in_root COMMAND…` to run what packages bring in the root file
 * system at `$root`. Its arguments are $1, $2, ….
 */
export interface SandboxRun extends Stage {
  /** Seen as `workMount`. The sandbox owns it from then on; the `inputs` in it are what packages can read. */
  readonly folder?: string;
  /** Folders that are seen as `belowMount(0)` and so on, read-only. */
  readonly below?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What the script reads. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
  readonly log?: (line: string) => void;
  /** Said in errors. */
  readonly what: string;
  /** Whether packages run in it, so that what it writes is limited. */
  readonly runsPackages?: boolean;
}

export interface Sandbox {
  readonly asRoot: boolean;
  /** What limits memory and processes: a control group for each run, or rlimits alone. */
  readonly limitedBy: 'cgroup' | 'rlimits';
  /** Trees made by a sandbox of one name are of use to no other. */
  readonly name: string;
  /** Runs a script to its end. `build-failed` with its last lines when it fails, `no-space` when that is why. */
  run(run: SandboxRun): Promise<void>;
  /** What a script prints, piece by piece. */
  stream(run: Omit<SandboxRun, 'log' | 'stdin'>): AsyncGenerator<Buffer>;
  /** Moves a folder that the sandbox owns. */
  move(from: string, to: string): Promise<void>;
  /** Removes a folder with files of any owner. Does nothing when there is none. */
  remove(path: string): Promise<void>;
  /** What a person types to run a script inside. */
  commandLine(stage: Stage): readonly string[];
  /** What a person types to remove a folder with files of any owner. */
  removeLine(path: string): readonly string[];
}

const measureDeadlineMs = 120_000;
const keptLines = 40;
const keptLength = 1000;
/** Each line counts for this much more than its length: a line costs time even if it is empty. */
const lineCost = 64;

export function createSandbox(
  namespace: Namespace = findNamespace(),
  limits: SandboxLimits = defaultLimits,
): Sandbox {
  const groups = findGroupParent();
  const optionsOf = ({ env, signal }: Pick<SandboxRun, 'env' | 'signal'>) => ({
    ...{ folder: '/', graceMs: 0, signal },
    env: { PATH: systemPath, HOME: '/', ...env },
  });
  const removeLine = (path: string) => [...namespace.owner, 'rm', '-rf', '--', path];

  async function asOwner(...words: readonly string[]): Promise<void> {
    const [program = '', ...rest] = [...namespace.owner, ...words];
    await runTool(program, rest, { folder: '/' });
  }

  /** A package can move its directories while they are read: `du` then exits with 1 and prints what it found. */
  async function measure(folder: string): Promise<Usage> {
    const [program = '', ...words] = [...namespace.owner, 'du', '-s'];
    const options = { folder: '/', accept: [0, 1], signal: AbortSignal.timeout(measureDeadlineMs) };
    const [bytes = Number.NaN, files = Number.NaN] = await Promise.all(
      ['-B1', '--inodes'].map(async (unit) => {
        const { stdout } = await runTool(program, [...words, unit, '--', folder], options);
        return Number.parseInt(stdout.toString(), 10);
      }),
    );
    if (Number.isNaN(bytes + files)) throw new ImagoError('tool-failed', 'du printed no number.');
    return { bytes, files };
  }

  async function run(job: SandboxRun): Promise<void> {
    throwIfAborted(job.signal);
    const group = groups === undefined ? undefined : await createGroup(groups, limits);
    const [program = '', ...args] = [...(group?.words ?? []), ...firstStage(namespace, limits, job)];
    const options = { ...optionsOf(job), stdin: job.stdin };
    const { child, kill, exit } = startProcess(program, args, options, 'sandbox-missing');
    const lines: string[] = [];
    const keep = (line: string) => {
      lines.push(line.slice(0, keptLength));
      if (lines.length > keptLines) lines.shift();
      job.log?.(line);
    };
    let stopped: ImagoError | undefined;
    const stop = (why: ImagoError) => {
      stopped ??= why;
      kill();
    };
    let printed = 0;
    const print = (texts: readonly string[]) => {
      for (const line of texts) {
        printed += line.length + lineCost;
        if (printed <= limits.outputBytes) keep(line);
        else return stop(exceeded(job.what, 'printed', limits.outputBytes));
      }
    };
    for (const stream of [child.stdout, child.stderr]) {
      const lines = lineSplitter();
      stream?.on('data', (chunk: Buffer) => {
        if (stopped === undefined) print(lines.add(chunk));
      });
      stream?.once('end', () => print(lines.end()));
    }
    const { folder, runsPackages = false } = job;
    const disk = folder && runsPackages ? { folder, measure: () => measure(folder) } : undefined;
    const watch = watchLimits(job.what, limits, disk, stop);
    try {
      const { code } = await exit;
      if (stopped !== undefined) throw stopped;
      if (code !== 0 && (await group?.ranOutOfMemory())) {
        throw exceeded(job.what, 'used', limits.allMemoryBytes, ' of memory');
      }
      if (code !== 0) throw failure(job.what, code, lines);
    } finally {
      watch.end();
      await group?.end();
    }
  }

  return {
    asRoot: namespace.asRoot,
    limitedBy: groups === undefined ? 'rlimits' : 'cgroup',
    name: namespace.name,
    run,
    stream(job) {
      const [program = '', ...args] = firstStage(namespace, limits, job);
      return streamTool(program, args, optionsOf(job));
    },
    async move(from, to) {
      await asOwner('mv', '-T', '--', from, to);
    },
    async remove(path) {
      await asOwner('rm', '-rf', '--', path);
    },
    commandLine: (stage) => firstStage(namespace, limits, stage),
    removeLine,
  };
}

function exceeded(what: string, did: string, bytes: number, of = ''): ImagoError {
  return new ImagoError(
    'build-failed',
    `${what} ${did} more than ${formatBytes(bytes)}${of} and was stopped.`,
  );
}

function failure(what: string, code: number | null, lines: readonly string[]): ImagoError {
  const text = lines.join('\n');
  if (/No space left on device|Disk quota exceeded/i.test(text)) {
    return new ImagoError('no-space', `${what} ran out of space.`);
  }
  const refused =
    /(?:unshare|bwrap): .*(?:not permitted|denied|failed|Can't)|newuidmap|newgidmap|[ug]id_map/i;
  if (refused.test(text)) {
    return new ImagoError('sandbox-missing', `This host does not allow user namespaces: ${lines.at(-1)}`);
  }
  const telling = lines.filter((line) => /error|fail|cannot|unable|not found/i.test(line)).slice(-3);
  const shown = telling.length > 0 ? telling : lines.slice(-3);
  return new ImagoError('build-failed', `${what} failed (exit ${code ?? 'by signal'}): ${shown.join('; ')}`, {
    details: { lines },
  });
}
