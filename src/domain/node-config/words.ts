// Words to the agent of one machine, in clouds that have no other way to it: the last line of its userData. They are not
// part of the node config, nor of its digest.

export interface NodeWords {
  /** The machine was given its config itself: it is not the one of its pool. */
  readonly own?: true;
  /** The machine can apply the config with that digest at that cost. */
  readonly allow?: { readonly cost: 'restart' | 'drain'; readonly digest: string };
  /** A script to run once, as root; the answer is written to the serial console. */
  readonly command?: { readonly id: string; readonly script: string; readonly timeoutMs: number };
}

const mark = '\n#imago ';

/** Returns the text of the userData. Without words it is the config as it is. */
export function withWords(config: string, words: NodeWords): string {
  return Object.keys(words).length === 0 ? config : `${config}${mark}${JSON.stringify(words)}`;
}

export function splitWords(text: string): { readonly config: string; readonly words: NodeWords } {
  const at = text.lastIndexOf(mark);
  const words = at < 0 ? undefined : readWords(text.slice(at + mark.length));
  return words === undefined ? { config: text, words: {} } : { config: text.slice(0, at), words };
}

/** Lenient: a word that this agent does not know is ignored. */
function readWords(line: string): NodeWords | undefined {
  try {
    const { own, allow, command } = JSON.parse(line) as NodeWords;
    return {
      ...(own === true ? { own } : {}),
      ...(isAllow(allow) ? { allow } : {}),
      ...(isCommand(command) ? { command } : {}),
    };
  } catch {
    return undefined;
  }
}

function isAllow(value: NodeWords['allow']): boolean {
  return ['restart', 'drain'].includes(value?.cost ?? '') && typeof value?.digest === 'string';
}

function isCommand(value: NodeWords['command']): boolean {
  const { id, script, timeoutMs } = value ?? {};
  return (
    typeof id === 'string' && typeof script === 'string' && typeof timeoutMs === 'number' && timeoutMs > 0
  );
}
