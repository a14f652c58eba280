// Keeps machines away from the services of this host. QEMU's user network connects to 127.0.0.1 for a machine that
// calls its gateway, and has no option against it. So QEMU hands every frame that the machine sends to this filter
// first, and accepts only those that pass. It is started by the shell around QEMU: it lives exactly as long as
// the machine, also without a daemon, and without it nothing passes.
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { writeFileDurably } from '../../../host/files/durable-files.ts';
import { mainNetwork } from './plan.ts';
import { shellWord } from './relay.ts';

/** The files and sockets of one machine's filter. */
interface GuardPaths {
  readonly services: string;
  readonly guard: string;
  readonly guardIn: string;
  readonly guardOut: string;
  readonly endpoints: string;
}

/** A machine's settings that decide which ports of this host it can call. */
interface EndpointSettings {
  readonly network: { readonly endpoints?: readonly number[] | 'config' };
  readonly metadata: { readonly userData: string };
}

/** Connects to a socket of QEMU, as soon as it is there. */
export const perlDial = `sub dial {
  for (;;) {
    socket my $socket, PF_UNIX, SOCK_STREAM, 0 or exit 1;
    return $socket if connect $socket, pack_sockaddr_un $_[0];
    exit 0 if !kill 0, $parent;
    select undef, undef, undef, 0.05;
  }
}`;

/**
 * A connection that is refused gets its FIN bit set: no TCP accepts such a first segment, and QEMU answers it with a
 * reset, so that the machine does not wait. All else that is not allowed is dropped. Writing never blocks, because
 * QEMU waits until its frames are read.
 */
export const perlGuard = `# Made by Imago: passes on what a machine may send, and keeps it away from this host.
use strict;
use Socket;
my ($parent, $from, $to, $ports, @own) = @ARGV;
my ($gateway, $dns, $wire) = map { inet_aton $_ } '${mainNetwork.gateway}', '${mainNetwork.dns}', '${mainNetwork.wire}';
my %own = map { inet_aton($_) => 1 } @own;
my $read = 0;
${perlDial}
sub is_own {
  if ($read != time and open my $trie, '<', '/proc/net/fib_trie') {
    $read = time;
    my $address;
    while (<$trie>) {
      $address = $1 if /\\|-- ([\\d.]+)/;
      $own{inet_aton $address} = 1 if m{/32 host LOCAL};
    }
  }
  return $own{$_[0]};
}
sub is_named {
  open my $file, '<', $ports or return 0;
  return scalar grep { $_ == $_[0] } <$file>;
}
sub filter {
  my ($frame) = @_;
  return '' if length $frame < 34;
  my ($kind, $first, $fragment, $protocol, $address) = unpack 'x12 n C x5 n x C x6 a4', $frame;
  return $frame if $kind == 0x0806;
  return '' if $kind != 0x0800;
  my ($number, $at) = (unpack('N', $address), 14 + ($first & 15) * 4);
  my $near = $number >> 8 == unpack('N', $gateway) >> 8;
  my $special = $number >> 24 == 0 || $number >> 24 == 127 || $number >> 24 >= 224 || $number >> 16 == 0xa9fe;
  return $frame if !$near and !$special and !is_own($address);
  return '' if $fragment & 0x3fff or length $frame < $at + 4;
  my $port = unpack 'x' . ($at + 2) . ' n', $frame;
  my $dhcp = $address eq $gateway || $number == 0xffffffff;
  return $dhcp && $port == 67 || $address eq $dns && $port == 53 ? $frame : '' if $protocol == 17;
  return '' if $protocol != 6 or length $frame < $at + 20;
  my $flags = unpack 'x' . ($at + 13) . ' C', $frame;
  return $frame if ($flags & 0x12) != 2 or $flags & 1;
  return $frame if $address eq $wire && $port == 80 or $address eq $dns && $port == 53;
  return $frame if $address eq $gateway and is_named($port);
  my $sum = (~unpack('x' . ($at + 16) . ' n', $frame) & 0xffff) + 1;
  $sum = ($sum & 0xffff) + ($sum >> 16);
  substr($frame, $at + 13, 1) = chr($flags | 1);
  substr($frame, $at + 16, 2) = pack 'n', ~$sum & 0xffff;
  return $frame;
}
my ($machine, $network) = (dial($from), dial($to));
my ($taken, $given) = ('', '');
for (;;) {
  my ($reads, $writes) = ('', '');
  vec($reads, fileno $machine, 1) = 1;
  vec($writes, fileno $network, 1) = 1 if length $given;
  select $reads, $writes, undef, undef;
  if (vec $writes, fileno $network, 1) {
    my $sent = send($network, $given, MSG_DONTWAIT) // exit 1;
    substr($given, 0, $sent) = '';
  }
  next if !vec $reads, fileno $machine, 1;
  sysread $machine, $taken, 65536, length $taken or exit 0;
  while (length $taken >= 4) {
    my $size = unpack 'N', $taken;
    exit 1 if $size > 131072;
    last if length $taken < 4 + $size;
    my $frame = filter(substr $taken, 4, $size);
    substr($taken, 0, 4 + $size) = '';
    $given .= pack 'N/a*', $frame if length $frame and length $given < 1048576;
  }
}
`;

/** Where Perl is on all systems that have it by default. */
export const perl = '/usr/bin/perl';

/** Writes the script that starts the filter; `false` if this host cannot run it, and the machine reaches nothing. */
export async function writeGuard(paths: GuardPaths): Promise<boolean> {
  if (!existsSync(perl)) return false;
  const program = join(paths.services, 'guard.pl');
  await writeFileDurably(program, perlGuard, 0o644);
  const own = Object.values(networkInterfaces()).flatMap((cards = []) =>
    cards.flatMap(({ family, address }) => (family === 'IPv4' ? [address] : [])),
  );
  const words = [paths.guardOut, paths.guardIn, basename(paths.endpoints), ...own].map(shellWord);
  await writeFileDurably(
    paths.guard,
    `# Made by Imago: keeps the machine away from this host.\nexec ${perl} ${shellWord(program)} "$1" ${words.join(' ')} 2>/dev/null\n`,
    0o644,
  );
  return true;
}

/** Tells the filter of a machine, which may run already, what it may reach. */
export async function writeEndpoints(
  settings: EndpointSettings,
  paths: Pick<GuardPaths, 'endpoints'>,
): Promise<void> {
  await writeFileDurably(
    paths.endpoints,
    namedPorts(settings)
      .map((port) => `${port}\n`)
      .join(''),
    0o644,
  );
}

/** The ports of this host's 127.0.0.1 that a machine may call. */
export function namedPorts({ network, metadata }: EndpointSettings): readonly number[] {
  const { endpoints = [] } = network;
  if (endpoints !== 'config') return endpoints;
  const address = new RegExp(`//${mainNetwork.gateway.replaceAll('.', '\\.')}:(\\d{1,5})\\b`, 'g');
  const config = Buffer.from(metadata.userData, 'base64').toString();
  return [...new Set([...config.matchAll(address)].map(([, port]) => Number(port)))];
}
