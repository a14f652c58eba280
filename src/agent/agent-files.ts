// The files that the agent adds to an image in addition to its bundle: its launcher, its units, and drop-ins that delay
// services until the node is configured. The image build enables units by their [Install] section.
import { localMachineProduct } from '../domain/node/node.ts';
import { abilitiesPath, agentAbilities } from '../domain/node-config/capabilities.ts';

export interface AgentFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

const units = '/usr/lib/systemd/system';

/** QuickJS reports a rejection as unhandled before an `await` can see it; the agent handles all of them. */
const run = 'qjs --std --no-unhandled-rejection -m /usr/lib/imago/agent.js';
const program = `#!/bin/sh
umask 022
export LC_ALL=C.UTF-8
exec ${run} "$@"
`;

const agentUnit = `[Unit]
Description=Make this machine the node that its config says
DefaultDependencies=no
After=systemd-remount-fs.service
Conflicts=shutdown.target
Before=shutdown.target
StartLimitIntervalSec=0

[Service]
ExecStart=${run} run
Environment=LC_ALL=C.UTF-8
Restart=always
RestartSec=2
OOMScoreAdjust=-900
StandardOutput=journal+console
StandardError=journal+console
SyslogIdentifier=imago-agent

[Install]
WantedBy=multi-user.target
`;

/** Started by udev when the port exists: in a cloud it never does. */
const commandsUnit = `[Unit]
Description=Run what the owner of this machine asks for
DefaultDependencies=no
After=systemd-remount-fs.service
Conflicts=shutdown.target
Before=shutdown.target

[Service]
ExecStart=${run} commands
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WorkingDirectory=/
Restart=always
RestartSec=1
`;

const shellUnit = `[Unit]
Description=Shell for the owner of this machine
After=systemd-user-sessions.service

[Service]
ExecStart=-/bin/bash --login
# Reports to the viewer of this shell that it exited; the next one starts immediately.
ExecStopPost=-/usr/bin/printf '\\033]imago;exit\\007'
StandardInput=tty
StandardOutput=tty
StandardError=tty
TTYPath=/dev/hvc0
TTYReset=yes
TTYVHangup=yes
Environment=HOME=/root TERM=xterm-256color
WorkingDirectory=-/root
Restart=always
RestartSec=0
SendSIGHUP=yes
IgnoreSIGPIPE=no
`;

/**
 * Both ports give root access without a password, so they exist only on machines that Imago itself runs on a host: others
 * can have a console of that name too.
 */
const onLocalMachine = `ATTR{[dmi/id]product_name}=="${localMachineProduct}"`;
const udevRules = `# Made by Imago: the ports of the host of this machine.
SUBSYSTEM=="virtio-ports", ${onLocalMachine}, ATTR{name}=="org.imago.commands.0", TAG+="systemd", ENV{SYSTEMD_WANTS}+="imago-commands.service"
SUBSYSTEM=="tty", ${onLocalMachine}, KERNEL=="hvc0", TAG+="systemd", ENV{SYSTEMD_WANTS}+="imago-shell.service"
`;

/** The console has one shell, which needs no password. */
const gettyDropIn = `[Unit]
ConditionPathExists=!${units}/imago-shell.service
`;

/** The agent starts the unit when the node is configured, and waits for it as long as for its response. */
const runtimeDropIn = `[Unit]
ConditionPathExists=/run/imago/configured

[Service]
TimeoutStartSec=300
EnvironmentFile=-/etc/imago/proxy.env
`;

/** The kubelet uses systemd and resolves names from its start on, which can be before the rest of the system runs. */
const kubeletDropIn = `[Unit]
ConditionPathExists=/run/imago/configured
Wants=dbus.socket systemd-resolved.service
After=dbus.socket systemd-resolved.service

[Service]
EnvironmentFile=-/etc/imago/proxy.env
EnvironmentFile=-/etc/imago/kubelet.env
ExecStart=
ExecStart=/usr/bin/kubelet $IMAGO_KUBELET_FLAGS
`;

/** The key of another machine is never shown. */
const sshDropIn = `[Unit]
ConditionPathExists=/run/imago/identified
`;

export function agentFiles(): readonly AgentFile[] {
  const file = (path: string, text: string, mode = 0o644) => ({ path, text, mode });
  return [
    file('/usr/bin/imago-agent', program, 0o755),
    file(`${units}/imago-agent.service`, agentUnit),
    file(`${units}/imago-commands.service`, commandsUnit),
    file(`${units}/imago-shell.service`, shellUnit),
    file('/usr/lib/udev/rules.d/99-imago.rules', udevRules),
    file(`${units}/serial-getty@hvc0.service.d/10-imago.conf`, gettyDropIn),
    file(`${units}/containerd.service.d/10-imago.conf`, runtimeDropIn),
    file(`${units}/kubelet.service.d/10-imago.conf`, kubeletDropIn),
    file(`${units}/ssh.service.d/10-imago.conf`, sshDropIn),
    file(abilitiesPath, `${JSON.stringify(agentAbilities(), null, 2)}\n`),
  ];
}
