// For plain images, which have no agent: what their cloud-init is given as custom data, once. It fetches the agent,
// checks it, and starts it; everything else is the agent's, from the same node config.
import { ImagoError } from '../domain/errors.ts';

export interface AgentSource {
  /** Where the agent's archive (tar, gzip) is. */
  readonly url: string;
  readonly sha256: string;
}

/** At most 30 lines. The same source gives the same text; a second run on a machine installs nothing anew. */
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
if [ "$(cat "$mark" 2>/dev/null)" != "$sha256" ]; then
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if command -v qjs >/dev/null && command -v curl >/dev/null; then break; fi
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends quickjs curl || sleep "$try"
  done
  archive=$(mktemp)
  trap 'rm -f "$archive"' EXIT
  curl -fsSL --retry 10 --retry-all-errors --output "$archive" "$url"
  echo "$sha256  $archive" | sha256sum --check --quiet
  tar --extract --gzip --file "$archive" --directory / --no-same-owner --no-overwrite-dir
  sync
  echo "$sha256" >"$mark"
fi
systemctl daemon-reload
udevadm control --reload
systemctl enable --now imago-agent.service
`;
}
