// The custom data for the cloud-init of plain images, which have no agent. It fetches the agent, verifies it, and starts
// it; the agent does everything else, from the same node config.
import { ImagoError } from '../error/imago-error.ts';

export interface AgentSource {
  /** Where the agent's archive (tar, gzip) is. */
  readonly url: string;
  readonly sha256: string;
}

/** Returns at most 30 lines. The same source gives the same text; a second run on a machine installs nothing. */
export function agentInstallScript({ url, sha256 }: AgentSource): string {
  if (!/^https?:\/\/[A-Za-z0-9._~:/?&=%+,@[\]-]+$/.test(url)) {
    throw new ImagoError(
      'input-invalid',
      'The address of the agent must be http or https, without quotes and blanks.',
    );
  }
  if (!/^[0-9a-f]{64}$/.test(sha256)) {
    throw new ImagoError('input-invalid', 'The sha256 of the agent must be 64 digits in hexadecimal.');
  }
  return `#!/bin/sh
# Installs Imago's agent on an image without one, and starts it. Made by Imago.
set -eu
url='${url}'
sha256='${sha256}'
mark=/usr/lib/imago/agent.sha256
archive=$(mktemp)
trap 'rm -f "$archive"' EXIT
get() {
  if ! command -v qjs >/dev/null || ! command -v curl >/dev/null; then
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends quickjs curl || return
  fi
  curl -fsSL --connect-timeout 15 --output "$archive" "$url" || return
  echo "$sha256  $archive" | sha256sum --check --quiet
}
if [ "$(cat "$mark" 2>/dev/null)" != "$sha256" ]; then
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if get; then break; fi
    echo "imago: the agent with sha256 $sha256 could not be had from $url, try $try of 10" >&2
    if [ "$try" = 10 ]; then exit 1; fi
    sleep "$try"
  done
  tar --extract --gzip --file "$archive" --directory / --no-same-owner --no-overwrite-dir
  sync
  echo "$sha256" >"$mark"
fi
systemctl enable imago-agent.service && systemctl try-restart serial-getty@hvc0.service
udevadm control --reload && udevadm trigger --subsystem-match=virtio-ports --subsystem-match=tty
systemctl start imago-agent.service
`;
}
