// Carries a machine's connections to its own two services. QEMU starts a command for each connection, so that
// requests do not mix and nothing needs to be there when the machine starts. The command is a script in the
// machine's folder: a newer daemon replaces it under a running machine. It waits for a daemon that restarts.
// Perl, which nearly every Linux has, starts in a tenth of the time of Node, and a node asks all the time.
import { join } from 'node:path';
import { writeFileDurably } from '../../../host/files/durable-files.ts';

/** Without a module, since loading one takes longer than all the rest; so it knows Linux alone. */
const perlRelay = `# Made by Imago: carries one connection to a socket, and waits for its server for a while.
use strict;
my $address = pack 'S a*', 1, $ARGV[0];
my $until = time + 20;
my $socket;
for (;;) {
  socket $socket, 1, 1, 0 or exit 1;
  last if connect $socket, $address;
  exit 1 if time > $until;
  select undef, undef, undef, 0.2;
}
sub carry {
  my ($from, $to) = @_;
  my $size = sysread $from, my $bytes, 65536 or return 0;
  for (my $sent = 0; $sent < $size; ) {
    my $more = syswrite $to, $bytes, $size - $sent, $sent or exit 1;
    $sent += $more;
  }
  return 1;
}
my $open = '';
vec($open, $_, 1) = 1 for 0, fileno $socket;
while (1) {
  select my $ready = $open, undef, undef, undef;
  carry($socket, *STDOUT) or last if vec $ready, fileno $socket, 1;
  next if !vec $ready, 0, 1 or carry(*STDIN, $socket);
  vec($open, 0, 1) = 0;
  shutdown $socket, 1;
}
`;

const nodeRelay = `// Made by Imago: carries one connection to a socket, and waits for its server for a while.
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

/** The files that hold the programs. */
export interface RelayPrograms {
  readonly node: string;
  readonly perl: string;
}

export async function writeRelayPrograms(folder: string): Promise<RelayPrograms> {
  const programs = { node: join(folder, 'relay.mjs'), perl: join(folder, 'relay.pl') };
  await writeFileDurably(programs.node, nodeRelay, 0o644);
  await writeFileDurably(programs.perl, perlRelay, 0o644);
  return programs;
}

export interface RelayOptions {
  /** Where the script goes. */
  readonly script: string;
  readonly programs: RelayPrograms;
  readonly sockets: string;
  /** Where Perl is, if it is. */
  readonly perl?: string;
}

const usualPerl = process.platform === 'linux' ? '/usr/bin/perl' : undefined;

export async function writeRelay(options: RelayOptions): Promise<void> {
  const { script, programs, sockets, perl = usualPerl } = options;
  const run = (...words: readonly string[]) =>
    `exec ${words.map(shellWord).join(' ')} ${shellWord(sockets)}/"$1" 2>/dev/null`;
  const lines = [
    '# Made by Imago: leads to the service that is named.',
    ...(perl === undefined ? [] : [`[ -x ${shellWord(perl)} ] && ${run(perl, programs.perl)}`]),
    run(process.execPath, '--no-warnings', programs.node),
  ];
  await writeFileDurably(script, `${lines.join('\n')}\n`, 0o644);
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
