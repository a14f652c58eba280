// Checks of the agent on a machine: the node is what its config says, stays so, and tells no secret.
import {
  fail,
  hasUnit,
  type MachineCheck,
  passWhenEnds,
  passWhenNone,
  shellWord,
  whenEnded,
} from './image-check.ts';

/**
 * A whole apply: without what the last one noted down, the agent looks at everything anew. Tells files that are newer
 * and services that were restarted; what the kubelet itself writes is left out, and where no config puts anything.
 */
const secondApply = [
  'export LC_ALL=C',
  'seen=$(mktemp -d) || exit 1',
  `units() { find /run/systemd/units -name 'invocation:*.service' -printf '%f %l\\n' | sort; }`,
  'units >"$seen/before" && touch "$seen/mark" && sleep 0.1',
  'rm -f /run/imago/applied.json',
  'imago-agent apply >"$seen/said" 2>&1; code=$?',
  'units >"$seen/after"',
  '[ "$code" = 0 ] || { tail -n 1 "$seen/said"; rm -rf "$seen"; exit "$code"; }',
  '[ -e /run/imago/applied.json ] || echo "/run/imago/applied.json is not there: nothing was applied"',
  'set -- /etc /usr; [ ! -d /var/lib/imago/components ] || set -- "$@" /var/lib/imago/components',
  'find "$@" -xdev \\( -path /usr/share -o -path /usr/lib/modules \\) -prune -o -newer "$seen/mark" -type f -print >"$seen/files" || exit 1',
  'if [ -d /var/lib/kubelet ]; then',
  `find /var/lib/kubelet -maxdepth 1 -newer "$seen/mark" -type f ! -name '*_state' ! -name kubeconfig >>"$seen/files" || exit 1`,
  'fi',
  'head -n 20 "$seen/files"',
  `join "$seen/before" "$seen/after" | while read -r unit one other; do [ "$one" = "$other" ] || echo "\${unit#invocation:} was restarted"; done`,
  `join -v 1 "$seen/before" "$seen/after" | while read -r unit _; do case $unit in *:containerd.service|*:kubelet.service) echo "\${unit#invocation:} was stopped" ;; esac; done`,
  'rm -rf "$seen"',
].join('\n');

/** The secrets themselves, and in the status also what looks like one. Tells where one is. */
function secretsScript(secrets: readonly string[]): string {
  const status = '/run/imago/status.json';
  const known = secrets.map((secret) => `-e ${shellWord(secret)}`).join(' ');
  const find = (how: string, place: string, name: string) =>
    `grep -q ${how} ${place}; case $? in 0) echo ${shellWord(name)} ;; 1) ;; *) exit 2 ;; esac`;
  return [
    find('-Ei -e "bearer|private key|password|[a-z0-9]{6}\\.[a-z0-9]{16}"', status, status),
    ...(secrets.length === 0
      ? []
      : [
          find(`-F ${known}`, status, status),
          'journal=$(mktemp) && journalctl --boot --quiet --no-pager --output=cat >"$journal" || exit 2',
          find(`-F ${known}`, '"$journal"', 'the journal'),
          'rm -f "$journal"',
        ]),
  ].join('\n');
}

export const agentChecks: readonly MachineCheck[] = [
  {
    id: 'agent-verify',
    title: 'the agent finds everything as the node config says',
    remedy: 'Run `imago-agent verify` on a machine that was kept: it names what differs.',
    script: ({ disk }) => (hasUnit(disk, 'imago-agent.service') ? 'imago-agent verify' : undefined),
    judge: (answer) => passWhenEnds(answer, 'as the config says'),
  },
  {
    id: 'agent-second-apply',
    once: true,
    timeoutMs: 180_000,
    title: 'a second apply changes nothing',
    remedy:
      'Something besides the agent changes this file: leave it to one of them. `imago-agent plan` on a machine that was kept tells what the agent would write.',
    script: ({ disk }) => (hasUnit(disk, 'imago-agent.service') ? secondApply : undefined),
    judge: (answer) => whenEnded(answer, (said) => passWhenNone(said, 'nothing changed')),
  },
  {
    id: 'agent-secrets',
    title: 'no secret of the node config is in the status or in the journal',
    remedy: 'The agent must never tell a secret: report it.',
    script: ({ disk, secrets }) =>
      hasUnit(disk, 'imago-agent.service') ? secretsScript(secrets ?? []) : undefined,
    judge(answer, { report, secrets = [] }) {
      const told = JSON.stringify(report ?? null);
      if (secrets.some((secret) => told.includes(secret))) return fail('the report holds one');
      return whenEnded(answer, (said) =>
        passWhenNone(
          said,
          secrets.length === 0 ? 'none, and the config has none' : `none of ${secrets.length}`,
        ),
      );
    },
  },
];
