// The system calls that no package needs while it is installed and that reach beyond the sandbox, as a filter program
// for the kernel: classic BPF, as `bwrap --seccomp` reads it.

/** Numbers on x86-64 and on arm64. */
const denied: Readonly<Record<string, readonly [number, number]>> = {
  ptrace: [101, 117],
  syslog: [103, 116],
  pivot_root: [155, 41],
  adjtimex: [159, 171],
  chroot: [161, 51],
  acct: [163, 89],
  settimeofday: [164, 170],
  mount: [165, 40],
  umount2: [166, 39],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  init_module: [175, 105],
  delete_module: [176, 106],
  quotactl: [179, 60],
  clock_settime: [227, 112],
  kexec_load: [246, 104],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  unshare: [272, 97],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  open_by_handle_at: [304, 265],
  clock_adjtime: [305, 266],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  finit_module: [313, 273],
  kexec_file_load: [320, 294],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
  quotactl_fd: [443, 443],
  open_tree_attr: [467, 467],
};

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
/** Those whose arguments decide. `mknod` exists on x86-64 only, so that arm64 has a number that no call has. */
const checked = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  socket: [41, 198],
  mknod: [133, 0xffff],
  mknodat: [259, 33],
} as const;
const namespaceFlags = 0x7e020000;
const terminalInput = [0x5412, 0x541c];
/** Local, IPv4, IPv6 and netlink. Others, such as vsock, do not end at a network namespace. */
const families = [1, 2, 10, 16];
const [eperm, enosys, eafnosupport] = [1, 38, 97];

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const mask = (value: number): Instruction => [0x54, 0, 0, value];
const refuse = (errno: number): Instruction => [0x06, 0, 0, 0x00050000 | errno];
const kill: Instruction = [0x06, 0, 0, 0x80000000];
const allow: Instruction = [0x06, 0, 0, 0x7fff0000];
/** The low word of an argument: both processors are little-endian. */
const argument = (index: number) => load(16 + 8 * index);
/** Skips `count` instructions unless the loaded word is `value`. */
const unless = (value: number, count: number): Instruction => [0x15, 0, count, value];

/** `undefined` for a processor that has no list. */
export function seccompFilter(architecture: string): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const column = architecture === 'x64' ? 0 : 1;
  const when = (call: keyof typeof checked, steps: readonly Instruction[]): readonly Instruction[] => [
    unless(checked[call][column], steps.length),
    ...steps,
  ];
  const device = (index: number): readonly Instruction[] => [
    argument(index),
    mask(0xf000),
    [0x15, 1, 0, 0x2000],
    unless(0x6000, 1),
    refuse(eperm),
    allow,
  ];
  const numbers = Object.values(denied).map((one) => one[column]);
  const program: readonly Instruction[] = [
    load(4),
    [0x15, 1, 0, architectures[architecture]],
    kill,
    load(0),
    // Calls of the x32 interface have numbers of their own.
    [0x35, 0, 1, 0x40000000],
    refuse(enosys),
    ...when('clone3', [refuse(enosys)]),
    ...when('clone', [argument(0), [0x45, 0, 1, namespaceFlags], refuse(eperm), allow]),
    ...when('mknod', device(1)),
    ...when('mknodat', device(2)),
    ...when('ioctl', [
      argument(1),
      ...terminalInput.flatMap((one) => [unless(one, 1), refuse(eperm)]),
      allow,
    ]),
    ...when('socket', [
      argument(0),
      ...families.flatMap((one) => [unless(one, 1), allow]),
      refuse(eafnosupport),
    ]),
    ...numbers.map((number, index): Instruction => [0x15, numbers.length - index, 0, number]),
    allow,
    refuse(eperm),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, jumpTrue, jumpFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}
