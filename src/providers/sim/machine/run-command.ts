// What a simulated machine answers to a script. It understands `echo`, `exit`, `hostname` and `cat /etc/machine-id`
// on lines of their own; everything else succeeds and says nothing.
import type { MachineCommandResult } from '../../../ports/provider/machines.ts';

export interface SimShell {
  readonly hostname: string;
  readonly machineId: string;
}

const defaultSeconds = 30;

/** How many seconds a script takes. */
export function sleepOf(script: string): number {
  const sleeps = script
    .split('\n')
    .flatMap((line) => /^sleep (infinity|[0-9]+)$/.exec(line.trim())?.[1] ?? []);
  const seconds = sleeps.map((text) => (text === 'infinity' ? Number.POSITIVE_INFINITY : Number(text)));
  return sleeps.length === 0 ? defaultSeconds : seconds.reduce((sum, one) => sum + one, 0);
}

export function answerScript(script: string, shell: SimShell): MachineCommandResult {
  const said: string[] = [];
  let exitCode = 0;
  for (const line of script.split('\n')) {
    const [word = '', rest = ''] = splitOnce(line.trim());
    if (word === 'exit')
      return { ...silent, exitCode: Number.parseInt(rest, 10) || 0, stdout: said.join('') };
    exitCode = word === 'false' ? 1 : 0;
    const answer = answerLine(word, rest, shell);
    if (answer !== undefined) said.push(`${answer}\n`);
  }
  return { ...silent, exitCode, stdout: said.join('') };
}

const silent: MachineCommandResult = { exitCode: 0, stdout: '', stderr: '', truncated: false };

function answerLine(word: string, rest: string, { hostname, machineId }: SimShell): string | undefined {
  if (word === 'echo') return rest.replace(/^(['"])(.*)\1$/, '$2');
  if (word === 'hostname') return hostname;
  if (word === 'cat' && rest === '/etc/machine-id') return machineId.replaceAll('-', '');
  return undefined;
}

function splitOnce(line: string): readonly [string, string] {
  const at = line.indexOf(' ');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1).trim()];
}
