// The network of a pool. Each machine has its own switch, a process that lives exactly as long as the machine, even
// without a daemon: it hands what its machine sends to the switches of the other machines, and gives the machine its
// address by DHCP (RFC 2131). Switches find each other by their sockets in the pool's folder, which only the user of
// the machines can enter. Nothing listens on a port of this host, so no other user can read or send frames.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../../host/files/durable-files.ts';
import { perl, perlDial } from './guard.ts';
import { type PoolCard, poolNetwork } from './plan.ts';
import { shellWord } from './relay.ts';

const { dhcp, mask } = poolNetwork;

/**
 * A socket is named after the address of its card: a frame for that address goes there, and all others go to everyone.
 * The queue of a socket is short, so a switch that does not read gets a moment, and then loses frames as on any network.
 * Leases never expire. A DHCP request is not passed on, and its response goes to the machine alone.
 */
export const perlSwitch = `# Made by Imago: connects a machine to the others of its pool, and gives it its address.
use strict;
use Socket;
my ($parent, $card, $pool, $mac, $address) = @ARGV;
my ($own, $server, $mask) = map { inet_aton $_ } $address, '${dhcp.address}', '${mask}';
my ($taken, $given, %stuck) = ('', '');
${perlDial}
sub answer {
  my ($frame) = @_;
  return '' if length $frame < 282;
  my ($kind, $first, $fragment, $protocol) = unpack 'x12 n C x5 n x C', $frame;
  my $at = 14 + ($first & 15) * 4;
  return '' if $kind != 0x0800 or $first >> 4 != 4 or $fragment & 0x3fff or $protocol != 17;
  return '' if $at < 34 or length $frame < $at + 248;
  my ($port, $op, $size, $transaction, $flags, $has, $from, $cookie) =
    unpack "x$at x2 n x4 C x C x a4 x2 n a4 x12 H12 x202 N", $frame;
  return '' if $port != 67 or $op != 1 or $size != 6 or $from ne $mac or $cookie != 0x63825363;
  my %option;
  for (my $next = $at + 248; $next + 1 < length $frame; ) {
    my ($code, $length) = unpack "x$next C C", $frame;
    last if $code == 255;
    $next += 1;
    next if $code == 0;
    last if $next + 1 + $length > length $frame;
    $option{$code} = substr $frame, $next + 1, $length;
    $next += 1 + $length;
  }
  my $type = ord($option{53} // '');
  return '' if $type != 1 and ($type != 3 or ($option{54} // $server) ne $server);
  my $wanted = $option{50} // ($has eq "\\0\\0\\0\\0" ? $own : $has);
  my $refused = $type == 3 && $wanted ne $own;
  my $options = pack 'N C3 C2 a4', 0x63825363, 53, 1, $type == 1 ? 2 : $refused ? 6 : 5, 54, 4, $server;
  $options .= pack 'C2 N C2 a4', 51, 4, 0xffffffff, 1, 4, $mask if !$refused;
  my $reply = pack 'C4 a4 x2 n x4 a4 a4 x4 H12 x202 a*', 2, 1, 6, 0, $transaction, $flags,
    $refused ? '' : $own, $server, $mac, $options . chr 255;
  $reply .= "\\0" x (300 - length $reply);
  my $all = $refused || $flags & 0x8000;
  my $header = pack 'C2 n x4 C2 x2 a4 a4', 0x45, 0, 28 + length $reply, 64, 17, $server, $all ? "\\xff" x 4 : $own;
  my $sum = unpack '%32n*', $header;
  $sum = ($sum & 0xffff) + ($sum >> 16) for 1, 2;
  substr($header, 10, 2) = pack 'n', ~$sum & 0xffff;
  my $head = pack 'H12 H12 n', $all ? 'f' x 12 : $mac, '${dhcp.mac.replaceAll(':', '')}', 0x0800;
  return $head . $header . pack('n4', 67, 68, 8 + length $reply, 0) . $reply;
}
sub hand {
  my ($name, $frame) = @_;
  my $peer = pack_sockaddr_un "$pool/$name";
  for (1 .. (time - ($stuck{$name} // 0) > 1 ? 50 : 1)) {
    return 1 if defined send SWITCH, $frame, MSG_DONTWAIT, $peer;
    return !$!{ENOENT} if !$!{EAGAIN};
    select undef, undef, undef, 0.001;
  }
  $stuck{$name} = time;
  return 1;
}
sub pass {
  my ($frame) = @_;
  return if length $frame < 14;
  my $to = unpack 'H12', $frame;
  return if $to eq $mac or hex(substr $to, 1, 1) % 2 == 0 && hand($to, $frame);
  opendir my $folder, $pool or return;
  hand($_, $frame) for grep { /^[0-9a-f]{12}$/ and $_ ne $mac } readdir $folder;
}
sub give {
  $given .= pack 'N/a*', $_[0] if length $given < 1048576;
}
unlink "$pool/$mac";
socket SWITCH, PF_UNIX, SOCK_DGRAM, 0 or exit 1;
bind SWITCH, pack_sockaddr_un "$pool/$mac" or exit 1;
my $machine = dial($card);
for (;;) {
  my ($reads, $writes) = ('', '');
  vec($reads, fileno $machine, 1) = vec($reads, fileno SWITCH, 1) = 1;
  vec($writes, fileno $machine, 1) = 1 if length $given;
  select $reads, $writes, undef, undef;
  if (vec $writes, fileno $machine, 1) {
    my $sent = send($machine, $given, MSG_DONTWAIT) // exit 1;
    substr($given, 0, $sent) = '';
  }
  if (vec $reads, fileno SWITCH, 1 and defined recv SWITCH, my $frame, 131072, MSG_DONTWAIT) {
    give($frame);
  }
  next if !vec $reads, fileno $machine, 1;
  sysread $machine, $taken, 65536, length $taken or exit 0;
  while (length $taken >= 4) {
    my $size = unpack 'N', $taken;
    exit 1 if $size > 131072;
    last if length $taken < 4 + $size;
    my $frame = substr $taken, 4, $size;
    substr($taken, 0, 4 + $size) = '';
    my $reply = answer($frame);
    length $reply ? give($reply) : pass($frame);
  }
}
`;

/** Writes the script that starts the switch. Without Perl there is none, and the machine reaches no other. */
export async function writeSwitch(
  pool: string,
  card: PoolCard,
  paths: { readonly services: string; readonly pool: string; readonly switch: string },
): Promise<boolean> {
  if (!existsSync(perl)) return false;
  const program = join(paths.services, 'switch.pl');
  await writeFileDurably(program, perlSwitch, 0o644);
  const words = [paths.pool, pool, card.mac.replaceAll(':', ''), card.address].map(shellWord);
  await writeFileDurably(
    paths.switch,
    `# Made by Imago: connects the machine to its pool.\nexec ${perl} ${shellWord(program)} "$1" ${words.join(' ')} 2>/dev/null\n`,
    0o644,
  );
  return true;
}
