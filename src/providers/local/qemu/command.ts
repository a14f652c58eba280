// QEMU's arguments for one machine.
//
// Networks. `main` leads outside by QEMU's own user network, through a filter that keeps the machine away from this
// host; where the filter cannot run, it leads nowhere. It has the addresses of Azure's wire server, so
// that 168.63.129.16 is on the same subnet, answered by a command of this machine alone. `metadata` leads to
// 169.254.169.254 and nowhere else. `pool`, for machines of a pool, is a network among them: a socket that leads to the
// machine's own switch.
//
// QEMU runs in the machine's folder. What is there has a relative name, which works for any user.
import { basename, dirname } from 'node:path';
import { localMachineProduct } from '../../../domain/node/node.ts';
import type { OpenForward } from '../../../domain/pool/port-forward.ts';
import { type MachineCards, mainNetwork } from '../network/plan.ts';
import type { AcceleratorName } from './accelerator.ts';
import { foreignGuest, foreignSerial } from './foreign-guest.ts';
import type { HostMachine } from './machine-host.ts';
import type { MachineFiles, MachineSockets } from './paths.ts';
import type { Firmware } from './program.ts';

export interface QemuPlan {
  readonly spec: HostMachine;
  readonly sockets: MachineSockets;
  readonly files: MachineFiles;
  readonly accelerator: AcceleratorName;
  readonly cards: MachineCards;
  readonly forwards: readonly OpenForward[];
  /** Whether a filter reads what the machine sends. */
  readonly guarded: boolean;
  /** For a machine that starts by UEFI. */
  readonly firmware?: Firmware;
}

export function qemuArguments(plan: QemuPlan): string[] {
  const { spec, sockets } = plan;
  return [
    ...['-name', guestName(spec.id), '-uuid', spec.metadata.machineId],
    ...['-smbios', `type=1,product=${localMachineProduct}${spec.build === true ? serial(spec) : ''}`],
    ...(spec.build === true ? foreignGuest() : []),
    ...['-M', 'q35', ...processor(plan.accelerator), '-smp', String(spec.cpus), '-m', `${spec.memoryMb}M`],
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-rtc', 'base=utc'],
    ...sandbox,
    ...control(sockets),
    ...ports(plan),
    ...bootParts(plan),
    ...disk(spec),
    ...networks(plan),
  ];
}

function serial({ metadata }: HostMachine): string {
  return `,serial=${value(foreignSerial(metadata.name))}`;
}

/** Distinguishes the process from others. */
export function guestName(id: string): string {
  return `guest=${value(id)}`;
}

/**
 * Denies system calls that QEMU does not need here. It starts the programs that carry connections, each in a session
 * of its own, which `spawn` and `elevateprivileges` would deny. A process with such a filter, and what it starts, gains
 * no privileges by setuid programs anyway.
 */
const sandbox = process.platform === 'linux' ? ['-sandbox', 'on,obsolete=deny,resourcecontrol=deny'] : [];

function processor(accelerator: AcceleratorName): string[] {
  if (accelerator !== 'tcg') return ['-accel', accelerator, '-cpu', 'host'];
  // Without cmpxchg16b and five-level paging, which emulation makes slow or Debian's kernel trip.
  return ['-accel', 'tcg,thread=multi,tb-size=128', '-cpu', 'max,cx16=off,la57=off'];
}

function control(sockets: MachineSockets): string[] {
  return [
    ...['-chardev', `socket,id=qmp,path=${value(sockets.qmp)},server=on,wait=off`],
    ...['-mon', 'chardev=qmp,mode=control'],
  ];
}

/**
 * Console and reports go to files: a machine's writes never wait for a daemon that is away, and what it said
 * before it ended is there. They are opened for appending, so that they can be cut while the machine runs. The
 * report's file is the log of a pipe, because a word to the agent goes the other way on the same port.
 */
function ports({ sockets, files }: QemuPlan): string[] {
  const file = (id: string, path: string) => ['-chardev', `file,id=${id},path=${basename(path)},append=on`];
  const socket = (id: string, path: string) => [
    '-chardev',
    `socket,id=${id},path=${value(path)},server=on,wait=off`,
  ];
  const logged = (id: string, pipe: string, log: string) => [
    '-chardev',
    `pipe,id=${id},path=${basename(pipe, '.in')},logfile=${basename(log)},logappend=on`,
  ];
  const port = (id: string, name: string) => [
    '-device',
    `virtserialport,id=${id}-port,bus=ports.0,chardev=${id},name=${name}`,
  ];
  return [
    ...[...file('console', files.console), '-serial', 'chardev:console'],
    ...['-device', 'virtio-serial-pci,id=ports'],
    ...[...socket('shell', sockets.shell), '-device', 'virtconsole,bus=ports.0,chardev=shell'],
    ...[...logged('report', files.agentIn, files.report), ...port('report', 'org.imago.report.0')],
    ...[...socket('commands', sockets.commands), ...port('commands', 'org.imago.commands.0')],
  ];
}

function bootParts({ spec, firmware, files, accelerator }: QemuPlan): string[] {
  const { boot } = spec;
  if (boot.kind === 'direct')
    return [
      '-kernel',
      boot.kernel,
      '-initrd',
      boot.initrd,
      '-append',
      kernelArguments(boot.cmdline, accelerator),
    ];
  if (firmware === undefined) return [];
  return [
    ...['-drive', `if=pflash,format=raw,readonly=on,file=${value(firmware.code)}`],
    ...['-drive', `if=pflash,format=raw,file=${basename(files.firmwareVariables)}`],
  ];
}

/**
 * The kernel checks its timer against a loop of its own. On a busy computer an emulated machine may lose that race
 * and then not start at all; under KVM the kernel knows to leave the check out.
 */
function kernelArguments(cmdline: string, accelerator: AcceleratorName): string {
  return accelerator === 'tcg' ? `${cmdline} no_timer_check` : cmdline;
}

/**
 * A write that fails for want of space, or for any other reason, pauses the machine until it succeeds: otherwise
 * the machine would remount its file system read-only.
 */
function disk({ folder, disk: path, backing }: HostMachine): string[] {
  const near = dirname(path) === folder ? `./${basename(path)}` : path;
  const node = [
    `driver=qcow2,node-name=root,discard=unmap,file.driver=file,file.filename=${value(near)}`,
    ...(backing === undefined
      ? []
      : [`backing.driver=raw,backing.file.driver=file,backing.file.filename=${value(backing)}`]),
  ].join(',');
  return ['-blockdev', node, '-device', 'virtio-blk-pci,drive=root,bootindex=1,werror=stop'];
}

function networks({ files, sockets, cards, forwards, guarded }: QemuPlan): string[] {
  const relay = (address: string, service: 'imds' | 'wire') =>
    `guestfwd=tcp:${address}:80-cmd:/bin/sh ${basename(files.relay)} ${service}`;
  const main = [
    `user,id=main,ipv6=off${guarded ? '' : ',restrict=on'}`,
    `net=${mainNetwork.subnet}/${mainNetwork.prefix},host=${mainNetwork.gateway},dns=${mainNetwork.dns}`,
    `dhcpstart=${mainNetwork.machine}`,
    relay(mainNetwork.wire, 'wire'),
    ...forwards.map(({ hostPort, guestPort }) => `hostfwd=tcp:127.0.0.1:${hostPort}-:${guestPort}`),
  ];
  const metadata = [
    'user,id=metadata,ipv6=off,restrict=on',
    'net=169.254.169.0/24,host=169.254.169.1,dns=169.254.169.2,dhcpstart=169.254.169.15',
    relay('169.254.169.254', 'imds'),
  ];
  return [
    ...['-netdev', main.join(','), ...card('main', cards.main)],
    ...(guarded ? guard(sockets) : []),
    ...['-netdev', metadata.join(','), ...card('metadata', cards.metadata)],
    ...(cards.pool === undefined
      ? []
      : [
          ...['-netdev', `stream,id=pool,server=on,addr.type=unix,addr.path=${value(sockets.pool)}`],
          ...card('pool', cards.pool.mac),
        ]),
  ];
}

function guard({ guardOut, guardIn }: MachineSockets): string[] {
  const socket = (id: string, path: string) => `socket,id=${id},path=${value(path)},server=on,wait=off`;
  return [
    ...['-chardev', socket('guard-out', guardOut), '-chardev', socket('guard-in', guardIn)],
    ...['-object', 'filter-redirector,id=guard,netdev=main,queue=rx,outdev=guard-out,indev=guard-in'],
  ];
}

function card(netdev: string, mac: string): string[] {
  return ['-device', `virtio-net-pci,netdev=${netdev},mac=${mac},romfile=`];
}

/** A comma ends a value unless it is doubled. */
function value(text: string): string {
  return text.replaceAll(',', ',,');
}
