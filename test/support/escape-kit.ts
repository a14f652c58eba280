// What a hostile package tries while it is installed. Each trial prints one line: `KIT NAME held` if the sandbox stood,
// `KIT NAME ESCAPED …` if it did not. All of it is bounded: without any sandbox it would do no harm.

export interface EscapeTargets {
  /** A file of the host that anyone can write. */
  readonly canary: string;
  /** A socket of the host that anyone can connect to. */
  readonly socket: string;
  /** An abstract socket of the host. */
  readonly abstract: string;
  /** A port of the host's loopback. */
  readonly port: number;
  /** More processes than the sandbox allows, and more memory. */
  readonly processes: number;
  readonly memoryBytes: number;
}

/** The body of a maintainer script, for the shell and the Perl of every Debian system. */
export function escapeKit(targets: EscapeTargets): string {
  return `cat >/usr/share/escape-kit.pl <<'KIT'
use strict; use warnings; use Socket; use Fcntl; use POSIX ();
$| = 1;
my ($canary, $socket, $abstract, $port, $processes, $memory) =
  ('${targets.canary}', '${targets.socket}', '${targets.abstract}', ${targets.port}, ${targets.processes}, ${targets.memoryBytes});

# In a process of its own: what it changes about itself ends with it. The trial returns a text if it got out.
sub trial {
  my ($name, $try) = @_;
  pipe(my $read, my $write) or die;
  my $pid = fork() // die;
  if ($pid == 0) {
    close $read;
    my $found = eval { $try->() };
    print $write defined $found ? $found : '';
    close $write;
    POSIX::_exit(0);
  }
  close $write;
  my $found = join '', <$read>;
  waitpid $pid, 0;
  print 'KIT ', $name, ' ', ($found eq '' ? 'held' : "ESCAPED $found"), "\\n";
}
sub scribble { my ($path) = @_; open(my $file, '>>', $path) or return undef; print $file 'kit'; close $file; return $path }
sub stream { my ($address, $family) = @_; socket(my $handle, $family, SOCK_STREAM, 0) or return undef; return connect($handle, $address) ? 'connected' : undef }
# Perl writes to the texts that it hands to the kernel, so these are copies.
sub call { my ($number, @words) = @_; return syscall($number, @words) == -1 ? undef : "system call $number" }

trial('plain-path', sub { scribble($canary) });
trial('double-chroot', sub {
  mkdir '/tmp/inner'; opendir(my $out, '/');
  call(161, '/tmp/inner') // return undef;
  call(81, fileno($out)) // return undef;
  chdir '..' for 1 .. 64;
  call(161, '.');
  return scribble($canary);
});
trial('proc-root', sub { for my $pid (glob '/proc/[0-9]*') { my $done = scribble("$pid/root$canary") // scribble("$pid/cwd$canary"); return $done if $done } undef });
trial('open-folders', sub { for my $fd (glob '/proc/self/fd/*') { -d $fd && chdir $fd or next; chdir '..' for 1 .. 64; my $done = scribble(".$canary"); return $done if $done } undef });
trial('host-tree', sub { -e '/oldroot' || -e '/newroot' || -e '/work' || -e '/below' ? 'a folder of the sandbox' : undef });
trial('mknod', sub {
  for my $device ([0060000, 254 << 8], [0060000, 8 << 8], [0020000, (1 << 8) | 1]) {
    return "device node $device->[1]" if syscall(133, "/tmp/node$device->[1]", $device->[0] | 0600, $device->[1]) == 0;
  }
  undef;
});
trial('mount', sub { mkdir '/tmp/m'; call(165, 'none', '/tmp/m', 'tmpfs', 0, 0) // call(165, '/', '/tmp/m', 0, 4096, 0) // call(430, 'tmpfs', 0) // call(428, -100, '/', 1) });
trial('remount', sub { call(165, 'none', '/proc', 0, 32, 0) // call(166, '/proc', 2) });
trial('ptrace', sub { call(101, 0, 0, 0, 0) // call(101, 16, 1, 0, 0) // call(101, 16, getppid(), 0, 0) });
trial('read-memory', sub { call(310, 1, 0, 0, 0, 0, 0) // call(311, 1, 0, 0, 0, 0, 0) });
trial('new-namespaces', sub { call(272, 0x10000000) // call(272, 0x20000) // call(56, 0x10000000 | 17, 0, 0, 0, 0) });
trial('enter-namespaces', sub { for my $ns (glob '/proc/[0-9]*/ns/mnt') { sysopen(my $file, $ns, O_RDONLY) or next; my $done = call(308, fileno($file), 0); return $done if $done } undef });
trial('keyring', sub { call(250, 0, -3, 1) // call(248, 'user', 'kit', 'kit', 3, -3) });
trial('kernel', sub { call(321, 0, 0, 0) // call(323, 0) // call(298, 0, 0, -1, -1, 0) // call(425, 1, 0) // call(175, 0, 0, '') // call(246, 0, 0, 0, 0) });
trial('kernel-settings', sub { for my $path ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger') { open(my $file, '>', $path) or next; syswrite($file, '') // next; return $path if $path ne '/proc/sys/kernel/hostname' } undef });
trial('devices', sub { for my $path ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/dev/kvm', '/dev/fuse', '/dev/loop-control') { return $path if -e $path } undef });
trial('device-folder', sub { open(my $file, '>', '/dev/kit') or return undef; for (1 .. 64) { my $count = syswrite($file, 'x' x (1 << 20)) // 0; return undef if $count < 1 << 20 } '64 MiB of memory' });
trial('path-socket', sub { my $done = stream(pack_sockaddr_un($socket), PF_UNIX); return $done if $done; for my $root (glob '/proc/[0-9]*/root') { my $path = "$root$socket"; next if length $path > 100; $done = stream(pack_sockaddr_un($path), PF_UNIX); return $done if $done } undef });
trial('abstract-socket', sub { stream(pack_sockaddr_un("\\0$abstract"), PF_UNIX) });
trial('loopback', sub { stream(pack_sockaddr_in($port, inet_aton('127.0.0.1')), PF_INET) });
trial('vsock', sub { socket(my $handle, 40, SOCK_STREAM, 0) ? 'a socket to the hypervisor' : undef });
trial('raw-socket', sub { socket(my $handle, 17, SOCK_RAW, 0) ? 'a packet socket' : undef });
trial('host-processes', sub { my $seen = () = glob '/proc/[0-9]*'; $seen > 40 ? "$seen processes can be seen" : undef });
trial('privileges', sub { open(my $file, '<', '/proc/self/status'); my %status = map { /^(\\w+):\\s*(\\S+)/ ? ($1 => $2) : () } <$file>; return "NoNewPrivs $status{NoNewPrivs}" if $status{NoNewPrivs} ne '1'; return "Seccomp $status{Seccomp}" if $status{Seccomp} ne '2'; for my $set (qw(CapBnd CapPrm CapEff CapInh CapAmb)) { return "$set $status{$set}" if hex($status{$set}) & ~0x800000fb } undef });
trial('own-ids', sub { open(my $file, '<', '/proc/self/uid_map'); my ($in, $out) = split ' ', <$file>; $out == 0 ? 'root is the root of the host' : undef });
trial('memory', sub { my $pid = fork() // return undef; if ($pid == 0) { close STDERR; my $x = 'x' x $memory; POSIX::_exit(length($x) == $memory ? 7 : 0) } waitpid $pid, 0; ($? >> 8) == 7 ? "$memory bytes" : undef });
trial('fork-bomb', sub {
  my @children;
  while (@children < $processes) { my $pid = fork(); last unless defined $pid; if ($pid == 0) { sleep 60; POSIX::_exit(0) } push @children, $pid }
  my $count = @children;
  kill 'KILL', @children; waitpid $_, 0 for @children;
  return $count < $processes ? undef : "$count processes";
});
trial('fork-bomb-of-many', sub {
  my @children;
  while (@children < $processes) {
    my $pid = fork(); last unless defined $pid;
    if ($pid == 0) { POSIX::setuid(1000 + @children); sleep 60; POSIX::_exit(0) }
    push @children, $pid;
  }
  my $count = @children;
  kill 'KILL', @children; waitpid $_, 0 for @children;
  return $count < $processes ? undef : "$count processes of as many users";
});
print "KIT END\\n";
KIT
perl /usr/share/escape-kit.pl
rm /usr/share/escape-kit.pl`;
}

export const trials = [
  ...[
    'plain-path',
    'double-chroot',
    'proc-root',
    'open-folders',
    'host-tree',
    'mknod',
    'mount',
    'remount',
    'ptrace',
  ],
  ...[
    'read-memory',
    'new-namespaces',
    'enter-namespaces',
    'keyring',
    'kernel',
    'kernel-settings',
    'devices',
    'device-folder',
  ],
  ...[
    'path-socket',
    'abstract-socket',
    'loopback',
    'vsock',
    'raw-socket',
    'host-processes',
    'privileges',
    'own-ids',
  ],
  ...['memory', 'fork-bomb', 'fork-bomb-of-many'],
] as const;

/** Writes this much in one file and in many, and says so unless it is stopped within a minute. */
export function diskFiller(bytes: number): string {
  const half = Math.floor(bytes / 2 / 1024 / 1024);
  return `mkdir -p /usr/share/filler
dd if=/dev/zero of=/usr/share/filler/one bs=1M count=${half} 2>/dev/null
for number in $(seq ${half}); do dd if=/dev/zero of=/usr/share/filler/$number bs=1M count=1 2>/dev/null; done
for _ in $(seq 60); do sleep 1; done
echo FILLED`;
}

/** Prints this many bytes without a line break, or one line break for each byte. */
export function outputFlood(kind: 'one-line' | 'empty-lines', bytes: number): string {
  return `head -c ${bytes} /dev/zero | tr '\\0' '${kind === 'one-line' ? 'x' : '\\n'}'
echo FLOODED`;
}

/** Writes this much to files that are deleted while they are open, which no directory shows. */
export function hiddenFiller(bytes: number): string {
  return `perl -e '
    my @open;
    for my $number (1 .. ${Math.ceil(bytes / 1024 / 1024)}) {
      open(my $file, ">", "/var/hidden") or die; unlink "/var/hidden"; push @open, $file;
      syswrite($file, "x" x (1 << 20)) == 1 << 20 or die "disk full";
    }
    sleep 1 for 1 .. 60;
  '
echo FILLED`;
}

/** Writes this much to directories that come, go, and move while they are measured. */
export function racingFiller(bytes: number): string {
  return `mkdir /var/race /var/filler
for racer in 1 2 3; do
  perl -e 'for (;;) { for my $name (1 .. 200) { mkdir "/var/race/$ARGV[0]-$name"; mkdir "/var/race/$ARGV[0]-$name/in" } for my $name (1 .. 200) { rmdir "/var/race/$ARGV[0]-$name/in"; rmdir "/var/race/$ARGV[0]-$name" } }' $racer &
done
sleep 3
for number in $(seq ${Math.ceil(bytes / 1024 / 1024)}); do head -c 1048576 /dev/zero >/var/filler/$number; done
for _ in $(seq 60); do sleep 1; done
echo FILLED`;
}
