// Every code that Imago can return, by its kind; docs/errors.md is generated from it. The text is the hint that applies if
// the thrower gives none; it is empty if the kind's advice in docs/errors.md is enough. The message of an error says what
// happened, so a code must name that in a few words.
const hints = {
  input: {
    'input-invalid': 'Correct the value and try again; nothing was changed.',
    'file-missing': '',
    'file-unwritable': 'Choose a path in a directory that exists and that you can write to.',
    'usage-unknown-command': 'See `imago --help`.',
    'usage-unknown-flag': '',
    'setting-unknown': 'List the settings with `imago config list`.',
    'setting-invalid':
      'Change it with `imago config set NAME VALUE`, or remove it with `imago config unset NAME`.',
    'usage-invalid': 'See the command with --help.',
    'context-invalid': 'Delete the file, and log in again with `imago login`.',
    'reference-malformed': 'Write NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.',
    'reference-inexact': 'Name a version or a channel: NAME:VERSION or NAME:CHANNEL.',
    'name-malformed':
      'Use lower-case letters, digits and dashes; begin with a letter; at most 63 characters.',
    'number-malformed': 'Write it like 1.34.2 or 2026.11.15.',
    'reason-missing': 'Add --reason TEXT.',
    'policy-invalid': '',
    'scan-unreadable':
      'Let the scanner write SARIF, CycloneDX or Trivy JSON; the output of a failed run is not a report.',
    'scan-elsewhere': '',
    'webhook-address':
      'Name a public HTTPS address, or allow private ones for this webhook with --allow-private.',
    'recipe-invalid': '',
    'recipe-syntax': 'Correct the YAML at that position; a key can occur only once in its map.',
    'recipe-files-wanted':
      'Send what the details list: `files` as text in the request, `inputs` with `sendRecipeFiles` before it.',
    'agent-missing':
      'Create it with `node scripts/build-agent.ts`, or set IMAGO_AGENT to its directory and restart the daemon.',
    'patch-invalid':
      'Download the update again from the Microsoft Update Catalog, and compare its KB with that of the recipe.',
    'lock-invalid': 'Restore the committed lock, or create a new one with `imago recipe lock --newest`.',
    'lock-stale': 'Run `imago recipe lock`, review what changed, and commit it.',
    'package-not-found': '',
    'package-conflict': '',
    'vhd-invalid': 'Copy the file again, or compare its sha256 with that of the sender.',
    'gpt-invalid': 'Check it with `sfdisk --verify`.',
    'tar-invalid': 'Create the archive again with `tar --format=pax`, without --sparse.',
    'tar-unsafe': '',
    'tar-limit': '',
    'boot-files-invalid': '',
    'ext4-invalid': '',
    'ext4-unclean':
      'Stop the machine cleanly and copy its disk again, or repair the file system with `e2fsck`.',
    'ntfs-invalid': '',
    'ntfs-unclean': 'Stop the machine cleanly, and copy its disk again.',
    'ntfs-encrypted':
      'Turn BitLocker off in the machine, wait until it has decrypted the disk, and copy it again.',
    'hive-invalid': '',
    'hive-unclean':
      'Stop the machine cleanly, and copy its disk again: the registry has changes in its logs that were not applied.',
    'inventory-invalid': '',
    'disk-uncleanable':
      'Capture a node whose disk has only ext4, FAT, and swap partitions that its /etc/fstab mounts.',
    'disk-layout-invalid': '',
    'disk-too-small': 'Raise the disk size in the recipe, or put less on the image.',
    'store-invalid': '',
    'key-invalid': 'Keys are ECDSA on P-256, in PEM. The passphrase is IMAGO_KEY_PASSPHRASE of the daemon.',
    'node-config-invalid':
      'See `imago node config explain FIELD` for what a field takes; nothing was changed.',
    'node-config-too-big': 'Move large files into the image, or fetch them by a hotfix.',
    'node-config-missing': 'Give the pool a node config.',
    'api-method-unknown': '',
    'api-body-too-big': '',
    'api-body-malformed': '',
    'api-body-media-type': '',
    'api-cursor-invalid':
      'Use the `next` of the previous page unchanged, or omit it to start from the beginning.',
    'api-event-id-invalid': 'Omit `after` and `Last-Event-ID` to receive only new events.',
    'listen-failed': '',
    'state-folder-unusable': 'Point IMAGO_HOME at a directory that you can write to.',
    'backup-invalid': 'Use another copy of the backup. Nothing was changed.',
    'backup-passphrase': 'Pass --passphrase-file FILE with the passphrase of the backup.',
    'provider-unknown': 'See `imago doctor`.',
    'cluster-config-invalid': 'Check it with `kubectl --kubeconfig FILE cluster-info`.',
  },
  'not-found': {
    'image-not-found': '',
    'version-not-found': '',
    'support-not-found': '',
    'channel-not-found': '',
    'channel-empty': '',
    'kubernetes-not-found': '',
    'region-missing': '',
    'policy-missing': 'Set one with `imago policy set FILE`.',
    'attestation-missing': '',
    'gallery-not-found': '',
    'webhook-not-found': '',
    'event-not-found': '',
    'lock-not-kept': 'Only versions that were built here can be the base of a hotfix.',
    'store-not-found': '',
    'upload-not-found': 'Uploads are stored for a day. Run the command again with the file.',
    'record-not-found': '',
    'registry-not-found': 'Check the repository and the tag, and that it was pushed.',
    'key-not-found': 'See `imago keys list`; create one with `imago keys create`.',
    'pool-not-found': '',
    'cluster-not-found': '',
    'context-not-found': 'See `imago context list`; add one with `imago login NAME URL`.',
    'rollout-not-found': 'Start one with `imago rollout start POOL`.',
    'node-not-found': '',
    'node-not-reported': 'See its console with `imago node console NODE`.',
    'machine-not-found': '',
    'secret-not-found':
      "Write its text to a file of that name in the directory `secrets` of the daemon's state directory.",
    'operation-not-found': '',
    'api-path-unknown': 'See docs/api.md for all paths.',
    'token-not-found': 'See `imago token list`.',
    'schedule-not-found': '',
    'fault-not-found': '',
    'problem-not-found': 'See `imago problem list --all`.',
    'provider-not-found': '',
  },
  conflict: {
    'file-exists': 'Choose another name, or move the file away.',
    'expectation-failed': 'Review the current state with --dry-run, then pass the value that it shows.',
    'number-taken': '',
    'number-exhausted': '',
    'version-state': '',
    'version-needed': 'See what keeps it with `imago prune --dry-run`.',
    'channel-moved': '',
    'release-superseded': 'Release again.',
    'channel-exists': '',
    'channel-in-use': 'Give those pools another image with `imago pool set-image`.',
    'gate-outdated': 'Try again.',
    'gallery-exists': 'Choose another name, or remove the other gallery with `imago gallery remove`.',
    'webhook-exists': '',
    'store-busy': '',
    'disk-changed': 'Stop the process that writes to the disk and store it again.',
    'pool-exists': '',
    'machine-not-running': 'Start it, or check its console to see why it stopped.',
    'machine-port-taken': 'Name another port, or none to get a free one.',
    'machine-shell-busy': 'A machine has one shell. Try again when the other user has left it.',
    'operation-busy': 'Watch it with `imago op watch`, or wait your turn with --wait.',
    'operation-ended': '',
    'owner-stale': '',
    'idempotency-reused': 'Use a new key for each new request.',
    'idempotency-expired':
      'See with `imago audit` whether the request took effect. If it did not, send it with a new key.',
    'idempotency-running': 'Try again in a moment with the same key.',
    'idempotency-withheld': '',
    'schedule-exists': '',
    'daemon-running': '',
    'daemon-standby': 'Send the request to the active daemon, or stop that one: this one then takes over.',
    'postgres-version':
      'Run `imago backup` with the version of Imago that made it, and `imago restore` with this one.',
    'postgres-foreign': '',
    'provider-conflict': '',
    'cluster-conflict': '',
    'cluster-exists': '',
    'cluster-in-use': 'Move those pools with `imago pool set-cluster`, or delete them.',
  },
  refused: {
    'confirmation-needed': 'Review the plan with --dry-run, then pass --yes.',
    'simulation-mixed': 'Keep a simulated image under its own name, and use it only with --provider sim.',
    'version-withdrawn': '',
    'rollout-refused': 'Roll out another version, or pass --retry-bad to try this one again.',
    'version-untested': 'Run `imago test` on it.',
    'disk-unfit': 'See the checks for Azure in docs/checks.md.',
    'withdrawal-inherited': '',
    'channel-managed': '',
    'channel-untested': 'Run `imago test` on it first.',
    'channel-restricted': 'Use a channel that is not public. This gate cannot be overridden.',
    'channel-backwards': 'Pass --allow-downgrade.',
    'gate-closed': 'See every gate with `imago channel promote … --dry-run`.',
    'override-refused': '',
    'policy-loosens':
      'Review the changes with `imago policy check FILE`, then pass --yes to `imago policy set`.',
    'approval-refused': '',
    'attestation-refused': '',
    'attestation-elsewhere': '',
    'channel-no-earlier': '',
    'webhook-gone': 'Delete the webhook, and create it again when the receiver accepts it.',
    'address-refused':
      'An administrator can allow it: `imago config set allow-addresses HOST`, then `imago down` and `imago up`.',
    'recipe-path-outside': 'Move the file next to the recipe, or open its directory with --files DIRECTORY.',
    'recipe-local-input':
      'Give it by a path relative to the recipe, which is sent with it, or by address and sha256; or build on the host of the daemon.',
    'archive-untrusted': 'Check the mirror, and that the package debian-archive-keyring is installed.',
    'capture-refused': 'See every rule of every node with `imago capture POOL --explain`.',
    'prototype-elsewhere': 'Build an image from a recipe to share it, or capture a node of the other pool.',
    'capture-unsafe':
      'Remove the named paths on the node, or add them to the checklist, and capture it again.',
    'version-restricted': 'Build a version without private inputs, or use it in named pools only.',
    'registry-denied':
      'Sign in with `docker login`, `podman login` or `skopeo login` as the user that the daemon runs as.',
    'key-revoked': 'Ask the signer for a new key.',
    'key-own': 'Replace it with `imago keys create`, or revoke it with `imago keys revoke`.',
    'signature-missing':
      "Trust the signer's public key with `imago keys trust`, or sign it with `imago image sign`.",
    'signature-invalid': '',
    'node-config-needs-disk': 'Replace the node, or send it a config without those changes.',
    'secret-exposed': '',
    'node-config-requires': 'Use a newer image, or remove the requirement.',
    'api-host-refused': 'Call it by the address that it listens on.',
    'api-unauthenticated':
      'Create one with `imago token create`, and send it as `Authorization: Bearer TOKEN`.',
    'api-role-too-small': 'Ask an administrator for a token with the reported role.',
    'tls-required':
      "Use an https:// address, and set IMAGO_CA to the CA file if the certificate is the daemon's own.",
    'state-folder-foreign': 'Point IMAGO_HOME at a directory of your own.',
    'runtime-folder-foreign':
      'Have it removed, or point XDG_RUNTIME_DIR at a directory that only you can write to.',
    'database-refused':
      'Check user, password and database in IMAGO_DATABASE_URL; the user must own the database.',
    'database-version': 'Use the version of Imago that last worked with this database, or a later one.',
    'backup-untrusted':
      'Run `imago keys show > old.pub` on the host that made it, and `imago restore FILE --key old.pub` here.',
    'restore-not-empty': 'Point IMAGO_HOME or IMAGO_DATABASE_URL at a new one.',
    'provider-lacks': '',
    'image-cannot-join': 'Build an image that contains kubeadm, kubelet, and cloud-init.',
    'provider-sign-in-failed': 'Check the credentials with `imago doctor`.',
    'provider-forbidden': 'Compare the role of the identity with `imago azure roles`.',
    'cluster-unauthorized': 'Renew the credentials, then check them with `kubectl auth whoami`.',
    'cluster-forbidden': 'Grant the reported verb on the reported resource to the account, then try again.',
    'cluster-version-unsupported': 'Upgrade the cluster.',
    'drain-blocked': 'Move or delete the reported pods, or allow their eviction.',
  },
  failed: {
    'patch-failed': '',
    'output-lost': 'Run the command again with another destination. What it changed is not undone.',
    'copy-differs':
      'Nothing was moved to it. Determine who made that copy, delete it there, and publish again.',
    'webhook-key-missing':
      'Copy `webhook.key` from the earlier state directory, or delete the webhook and create it again.',
    'hotfix-moved-more':
      'Build from the recipe, where more can change, or with the Imago that built the version.',
    'input-mismatch': 'It was changed at its source. Check why before you lock it again.',
    'input-missing': 'Restore it, or lock the recipe again with the inputs that exist.',
    'input-damaged': 'It was removed from the cache. Run the command again to fetch it.',
    'sandbox-missing': 'Run `imago doctor` to see what is missing and how to install it.',
    'budget-exceeded': '',
    'disk-clean-failed':
      'Nothing was published. Free up space on the file system of the node if it is full, and try again.',
    'no-space':
      'Free some space, or point Imago at another directory; finished layers and downloads are retained.',
    'control-plane-programs':
      'Build them once with `npm run -s get-kubernetes -- 1.36.3 --program …` and `3.7.3 --program etcd`, or put them into IMAGO_KUBERNETES/VERSION.',
    'control-plane-failed': 'See the directory `control-plane/log` of the state directory.',
    'tool-missing': 'Run `imago doctor` to see what is missing and how to install it.',
    'build-failed': '',
    'tool-failed': '',
    'test-failed': '',
    'store-corrupt': 'Run `imago image verify` to see what is damaged and repair it from a copy.',
    'machine-user': 'Create a system user named `imago-vm`, or start Imago as an ordinary user.',
    'node-config-failed': 'The node has its last good config. Correct the config and send it again.',
    'node-apply-failed':
      'The node reverted to its last good config, if it had one. See /run/imago/status.json on it.',
    'node-apply-interrupted':
      'The node reverted to its last good config. Check the end of its console output.',
    'node-disk-full': 'Nothing was changed. Free space on it, or use a larger disk.',
    'node-service-failed':
      'The node reverted to its last good config, if it had one. See `journalctl -u UNIT` on it.',
    'operation-failed': '',
    'daemon-not-running': 'Start it with `imago up`.',
    'daemon-connection-lost': 'Try again: a write that is repeated with its idempotency key is done once.',
    'daemon-answer-invalid': '',
    'daemon-start-failed': 'Its log is in the directory `log` of the state directory.',
    'daemon-not-stopped': '',
    'postgres-missing':
      'Install Imago again with its optional packages, or point IMAGO_DATABASE_URL at a PostgreSQL.',
    'postgres-user': 'Create a system user named `imago`, or start Imago as an ordinary user.',
    'postgres-unreachable':
      'Check the permissions of the reported path, and whether it allows programs to be run.',
    'postgres-failed': 'Its log is `log/postgres.log` in the state directory.',
    'rollout-rolled-back':
      'Fix the image and roll out a new version. See the failed nodes with `imago op show`.',
    'nodes-left':
      'List them with `imago image nodes`, repair what the operation reports, and run `imago op retry`.',
    'drain-failed':
      'Fix the reported reason, for example two disruption budgets that select the same pod, and drain again.',
  },
  provider: {
    'download-failed': '',
    'registry-failed': 'Try again later; blobs that were transferred are not transferred again.',
    'registry-corrupt': 'Try again; if it recurs, push the version there again from an intact copy.',
    'machine-start-failed': 'See `imago doctor`.',
    'machine-not-answering': '',
    'machine-command-lost': '',
    'node-metadata-unreachable':
      "Check the machine's network and the service behind 169.254.169.254; the agent keeps retrying.",
    'operation-verify-failed': '',
    'database-unreachable': 'Check IMAGO_DATABASE_URL and that the server runs.',
    'database-busy': 'Try again in a moment; if it recurs, look for long transactions in the database.',
    'database-failed': 'See the log of the database.',
    'database-readonly': 'Point IMAGO_DATABASE_URL at the primary server.',
    'provider-failed': '',
    'provider-throttled': '',
    'provider-no-reply': '',
    'local-state-unusable':
      'Free some space on its disk, or restore the file from a copy: machines are found by it.',
    'sim-world-unusable':
      'Free some space on its disk, or move the file away: the simulation then starts with an empty world.',
    'cluster-unreachable':
      'Check that the API server is running and that its address is reachable from this host.',
    'cluster-request-failed': '',
  },
  quota: {
    'limit-reached': 'See `imago limits`.',
    'upload-quota': 'Import the earlier uploads, or wait: each is deleted after a day.',
    'api-rate-limited': '',
    'api-streams-limited': 'Close a stream, or watch several subjects in one.',
    'database-full': 'Free some space on it, then try again.',
    'provider-quota': '',
    'machine-memory-short':
      'Stop other machines or processes, or request fewer or smaller machines (`--size tiny`).',
  },
  timeout: {
    'machine-command-timeout':
      'The command might still be running. Check that the image has the agent and that the machine started.',
    'operation-wait-timeout': '',
    'command-timeout': '',
    'operation-step-timeout': '',
    'api-body-slow': '',
    'daemon-starting':
      'Try again in a moment; `log/daemon.log` in the state directory shows what it waits for.',
    'daemon-not-answering': 'Stop it with `imago down`, which also works if it hangs, then try again.',
    'provider-timeout': '',
    'webhook-unanswered':
      'Correct the receiver, then test again. Imago retries this delivery for about three days.',
    'drain-timeout':
      'Check the reported disruption budgets and pods. Draining again continues with the remaining pods.',
  },
  cancelled: {
    cancelled: '',
    'output-closed': 'An operation that was started continues. List operations with `imago op list`.',
  },
  bug: {
    internal: 'This is a bug in Imago. Please report it with the output of `imago doctor`.',
    'operation-unknown-kind': '',
    'operation-unknown-step': '',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type ErrorKind = keyof typeof hints;
export type ErrorCode = { [Kind in ErrorKind]: keyof (typeof hints)[Kind] }[ErrorKind];

interface CatalogEntry {
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
}

export const errorCatalog: Readonly<Record<ErrorCode, CatalogEntry>> = Object.fromEntries(
  Object.entries(hints).flatMap(([kind, codes]) =>
    Object.entries(codes).map(([code, hint]) => [code, { kind, hint: hint || undefined }]),
  ),
) as Record<ErrorCode, CatalogEntry>;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalog, code);
}
