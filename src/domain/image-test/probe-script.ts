// Many scripts in one round trip: a machine under test answers all of them at once, each with its exit code and its
// output, and one that hangs or fails takes nothing from the others.
import { type ProbeAnswer, shellWord } from './image-check.ts';

export interface Probe {
  readonly id: string;
  readonly script: string;
  /** 60 s when absent. */
  readonly timeoutMs?: number | undefined;
}

const longestOutput = 16_384;
const defaultTimeoutMs = 60_000;

export function probeScript(probes: readonly Probe[]): string {
  return [
    'probe() {',
    '  out=$(timeout --kill-after=5 "$2" sh -c "$3" 2>&1 </dev/null); code=$?',
    `  printf '%s %s %s\\n' "$1" "$code" "$(printf '%s' "$out" | head -c ${longestOutput} | base64 --wrap=0)"`,
    '}',
    ...probes.map(
      ({ id, script, timeoutMs = defaultTimeoutMs }) =>
        `probe ${shellWord(id)} ${Math.max(1, Math.ceil(timeoutMs / 1000))} ${shellWord(script)}`,
    ),
  ].join('\n');
}

/** By the id of the probe. One that is missing got no answer. */
export function readProbes(
  stdout: string,
  decode: (base64: string) => string,
): ReadonlyMap<string, ProbeAnswer> {
  const answers = new Map<string, ProbeAnswer>();
  for (const line of stdout.split('\n')) {
    const match = /^(\S+) (\d+) ([A-Za-z0-9+/=]*)$/.exec(line);
    if (match === null) continue;
    answers.set(match[1] ?? '', { exitCode: Number(match[2]), output: decode(match[3] ?? '') });
  }
  return answers;
}
