// Runs what whoever owns the machine asks for, as root: scripts come and results go as lines of JSON.
import type { System } from './system.ts';

export interface CommandAnswer {
  readonly id: string;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated?: true;
}

const maxOutput = 256 * 1024;
const usualTimeoutMs = 60_000;

/** Undefined for a line that asks for nothing that could be answered. */
export async function answerCommand(system: System, line: string): Promise<CommandAnswer | undefined> {
  const wish = parse(line);
  if (typeof wish?.id !== 'string') return undefined;
  const { id, script, timeoutMs = usualTimeoutMs } = wish;
  if (typeof script !== 'string' || typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    return {
      id,
      exitCode: 2,
      stdout: '',
      stderr: 'the command must have a script, and a time limit above 0',
    };
  }
  // `timeout` ends the script with all that it started.
  const seconds = (timeoutMs / 1000).toFixed(3);
  const command = ['timeout', '--kill-after=2', seconds, 'sh', '-c', script];
  const result = await system.run(command, { timeoutMs: timeoutMs + 10_000 });
  const [stdout, cutOut] = cut(result.stdout);
  const [stderr, cutErr] = cut(result.stderr);
  const exitCode = result.timedOut ? 124 : result.exitCode;
  return { id, exitCode, stdout, stderr, ...((cutOut || cutErr) && { truncated: true }) };
}

interface Wish {
  readonly id?: unknown;
  readonly script?: unknown;
  readonly timeoutMs?: unknown;
}

function parse(line: string): Wish | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function cut(text: string): readonly [text: string, cut: boolean] {
  return text.length > maxOutput ? [text.slice(0, maxOutput), true] : [text, false];
}
