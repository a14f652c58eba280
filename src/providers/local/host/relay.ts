// Carries a machine's connections to its own two services. QEMU starts a command for each connection, so that
// requests do not mix and nothing needs to be there when the machine starts. The command is a script in the
// machine's folder: a newer daemon replaces it under a running machine. It waits for a daemon that restarts.
import { writeFileSafely } from './safe-file.ts';

export const relayProgram = `// Made by Imago: carries one connection to a socket, and waits for its server for a while.
import { connect } from 'node:net';
const path = process.argv[2];
const until = Date.now() + 20_000;
process.stdout.on('error', () => process.exit(1));
process.stdin.on('error', () => process.exit(1));
function start() {
  const socket = connect({ path, allowHalfOpen: true });
  socket.once('connect', () => {
    process.stdin.pipe(socket);
    socket.pipe(process.stdout);
    socket.once('end', () => process.stdout.end(() => process.exit(0)));
  });
  socket.once('error', () => {
    if (socket.bytesWritten > 0 || Date.now() > until) process.exit(1);
    setTimeout(start, 200);
  });
}
start();
`;

export interface RelayOptions {
  /** Where the script goes. */
  readonly script: string;
  readonly node: string;
  /** The file that holds `relayProgram`. */
  readonly program: string;
  readonly sockets: string;
}

export async function writeRelay({ script, node, program, sockets }: RelayOptions): Promise<void> {
  const words = [node, '--no-warnings', program].map(shellWord).join(' ');
  const text = `# Made by Imago: leads to the service that is named.\nexec ${words} ${shellWord(sockets)}/"$1" 2>/dev/null\n`;
  await writeFileSafely(script, text);
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
