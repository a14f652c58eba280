// The subcommands that need only a small part of the agent: loading all of it would take longer than they do, and one of
// them starts at every boot.
import type { NodeReport } from '../domain/node/report.ts';
import { openLinePort, portDevice } from './quickjs/line-port.ts';
import type { QuickJsModules } from './quickjs/modules.ts';
import { statusPath } from './system/paths.ts';
import { parseObject, type System } from './system/system.ts';

export interface VerbContext {
  readonly modules: QuickJsModules;
  readonly system: System;
  readonly version: string;
  readonly print: (line: string) => void;
}

export type Verb = (context: VerbContext) => Promise<number>;

const commandPort = 'org.imago.commands.0';

export const verbs: Readonly<Record<string, Verb>> = { status, commands };

async function status({ system, print }: VerbContext): Promise<number> {
  const text = system.readText(statusPath);
  if (text === undefined) {
    print('the agent has not reported in this boot');
    return 1;
  }
  print(text.trimEnd());
  return (JSON.parse(text) as NodeReport).phase === 'ready' ? 0 : 1;
}

async function commands({ modules, system, print }: VerbContext): Promise<number> {
  const { promise: never } = Promise.withResolvers<number>();
  const device = modules.std.getenv('IMAGO_COMMAND_PORT') ?? portDevice(system, commandPort);
  let last = Promise.resolve();
  const port =
    device &&
    openLinePort(modules, device, (line) => {
      last = last.then(
        async () => {
          const answer = await answerCommand(system, line);
          if (answer !== undefined && port) await port.sendAll(JSON.stringify(answer));
        },
        () => undefined,
      );
    });
  if (port) return never;
  print('this machine has no port for commands');
  return 1;
}

interface CommandAnswer {
  readonly id: string;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated?: true;
}

const maxOutput = 256 * 1024;
const defaultTimeoutMs = 60_000;

/** Runs a script of the machine's owner as root. Returns `undefined` for a line without an id. */
export async function answerCommand(system: System, line: string): Promise<CommandAnswer | undefined> {
  const wish = parseObject(line);
  if (typeof wish?.id !== 'string') return undefined;
  const { id, script, timeoutMs = defaultTimeoutMs } = wish;
  if (typeof script !== 'string' || typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    return {
      id,
      exitCode: 2,
      stdout: '',
      stderr: 'The command must have a script, and a time limit above 0.',
    };
  }
  // `timeout` ends the script with all its child processes.
  const seconds = (timeoutMs / 1000).toFixed(3);
  const command = ['timeout', '--kill-after=2', seconds, 'sh', '-c', script];
  const result = await system.run(command, { timeoutMs: timeoutMs + 10_000 });
  const [stdout, cutOut] = cut(result.stdout);
  const [stderr, cutErr] = cut(result.stderr);
  const exitCode = result.timedOut ? 124 : result.exitCode;
  return { id, exitCode, stdout, stderr, ...((cutOut || cutErr) && { truncated: true }) };
}

function cut(text: string): readonly [text: string, cut: boolean] {
  return text.length > maxOutput ? [text.slice(0, maxOutput), true] : [text, false];
}
