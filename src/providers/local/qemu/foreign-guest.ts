// Gives a machine of a build a command port although its disk has nothing of Imago: units and a shell script that
// systemd (256 or later) reads from the firmware's tables, so that nothing is written to the disk. On a disk with the
// agent, the unit's condition keeps it off. cloud-init, if the disk has it, finds a data source without data there: it
// brings the first network card up, as it does for every machine without settings of its own.

/** One request is a line of JSON, as for the agent. The response has its texts in base64: a shell cannot write JSON. */
export const commandServer = `set -u
if [ "\${1-}" != stdio ]; then
  for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name" 2>/dev/null)" != org.imago.commands.0 ] || device=/dev/\${port##*/}
  done
  exec <>"\${device:?}" >&0
fi
work=$(mktemp -d)
unescape() {
  sed -e 's/^.*"script":"//' -e 's/","timeoutMs":.*$//' -e 's/\\\\\\\\/\\\\0134/g' -e 's/\\\\"/"/g' \\
    -e 's/\\\\u000\\([0-7]\\)/\\\\000\\1/g' -e 's/\\\\u001\\([0-7]\\)/\\\\002\\1/g' -e 's/\\\\u001b/\\\\0033/g'
}
while :; do
  IFS= read -r line || { [ "\${1-}" != stdio ] || exit 0; sleep 1; continue; }
  id=$(printf %s "$line" | sed -n 's/^{"id":"\\([0-9a-f-]*\\)","script":".*$/\\1/p')
  ms=$(printf %s "$line" | sed -n 's/^.*","timeoutMs":\\([0-9]*\\)}$/\\1/p')
  [ -n "$id" ] && [ -n "$ms" ] || continue
  printf %b "$(printf %s "$line" | unescape)" >"$work/script"
  timeout --kill-after=2 "$((ms / 1000 + 1))" sh -c "$(cat "$work/script")" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  out=$(head -c 196608 "$work/out" | base64 -w 0)
  err=$(head -c 65536 "$work/err" | base64 -w 0)
  cut=false
  [ "$(stat -c %s "$work/out")" -le 196608 ] && [ "$(stat -c %s "$work/err")" -le 65536 ] || cut=true
  printf '{"id":"%s","exitCode":%s,"stdout64":"%s","stderr64":"%s","truncated":%s}\\n' "$id" "$code" "$out" "$err" "$cut"
done
`;

const scriptName = 'imago.commands';
const unitName = 'imago-build-commands.service';

/** It does not wait for the targets of the system: cloud-init comes after some of them. */
const unit = `[Unit]
Description=Run what the build on this machine asks for
ConditionPathExists=!/usr/lib/imago/agent.js
DefaultDependencies=no
After=basic.target cloud-final.service
Conflicts=shutdown.target
Before=shutdown.target

[Service]
ImportCredential=${scriptName}
ExecStart=/bin/sh \${CREDENTIALS_DIRECTORY}/${scriptName}
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Restart=always
RestartSec=1
`;

const wants = `[Unit]
Wants=${unitName}
`;

/** For the owner of the machine, as `imago node shell` opens it. Disks with the agent have another shell there. */
const shell = `[Service]
ExecStart=
ExecStart=-/bin/sh -l
StandardInput=tty
StandardOutput=tty
StandardError=tty
Environment=HOME=/root TERM=xterm-256color
`;

/** QEMU's arguments: the machine's serial number is where cloud-init looks, and credentials are strings of the vendor. */
export function foreignGuest(): string[] {
  const credential = (key: string, text: string) => [
    '-smbios',
    `type=11,value=io.systemd.credential.binary:${key}=${Buffer.from(text).toString('base64')}`,
  ];
  return [
    ...credential(scriptName, commandServer),
    ...credential(`systemd.extra-unit.${unitName}`, unit),
    ...credential('systemd.unit-dropin.multi-user.target', wants),
    ...credential('systemd.unit-dropin.serial-getty@hvc0.service', shell),
  ];
}

/** What its serial number says. */
export function foreignSerial(name: string): string {
  return `ds=nocloud;i=${name};h=${name}`;
}
