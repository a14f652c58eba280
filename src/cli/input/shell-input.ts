// Encodes keys typed into a node's shell, and the size of the terminal, as lines for the daemon.
import type { EventEmitter } from 'node:events';

interface Typing extends EventEmitter {
  readonly isTTY?: boolean;
}

interface Screen extends EventEmitter {
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly columns?: number;
}

/** Reason to stop reading keys when the shell exited. */
export const shellExited = new Error('the shell exited');

/** Ctrl-], as in telnet and virsh; few programs use it. */
const leaveKey = 0x1d;
/** Without a terminal, the shell is left some time after the last line, so that its output arrives. */
const lastOutputMs = 1000;

/** Ends at Ctrl-], at the end of the input, or with the signal. */
export async function* shellInput(
  stdin: Typing,
  screen: Screen,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const waiting: string[] = [];
  let wake: () => void = () => undefined;
  let ended = false;
  const add = (message: object) => {
    waiting.push(`${JSON.stringify(message)}\n`);
    wake();
  };
  const addSize = () => {
    const { rows, columns } = screen;
    if (rows !== undefined && columns !== undefined) add({ rows, columns });
  };
  const end = () => {
    ended = true;
    wake();
  };
  const type = (chunk: Buffer) => {
    const leave = stdin.isTTY === true ? chunk.indexOf(leaveKey) : -1;
    const typed = leave < 0 ? chunk : chunk.subarray(0, leave);
    if (typed.length > 0) add({ input: typed.toString('base64') });
    if (leave >= 0) end();
  };
  const finish = () => setTimeout(end, stdin.isTTY === true ? 0 : lastOutputMs);

  if (screen.isTTY === true) addSize();
  screen.on('resize', addSize);
  stdin.on('data', type);
  stdin.once('end', finish);
  signal.addEventListener('abort', end, { once: true });
  try {
    while (!ended || waiting.length > 0) {
      const line = waiting.shift();
      if (line !== undefined) yield Buffer.from(line);
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    screen.off('resize', addSize);
    stdin.off('data', type);
    signal.removeEventListener('abort', end);
  }
}
