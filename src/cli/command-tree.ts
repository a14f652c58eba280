// The tree of commands. One line each: what it is called, what it does, and where it is.
import type { CommandNode } from './spec/command.ts';

function group(name: string, summary: string, children: readonly CommandNode[]): CommandNode {
  return { name, summary, children };
}

export const commandTree: CommandNode = group('imago', 'Runs the whole life of Kubernetes node images', [
  {
    name: 'init',
    summary: 'Write a first recipe into this folder',
    load: () => import('./commands/init.ts'),
  },
  group('recipe', 'What is on a node', [
    { name: 'check', summary: 'Check a recipe', load: () => import('./commands/recipe/check.ts') },
    { name: 'show', summary: 'Print the whole of it', load: () => import('./commands/recipe/show.ts') },
    {
      name: 'lock',
      summary: 'Resolve every input to an exact version',
      load: () => import('./commands/recipe/lock.ts'),
    },
    { name: 'outdated', summary: 'What is behind', load: () => import('./commands/recipe/outdated.ts') },
    {
      name: 'why-rebuild',
      summary: 'What a build would make anew, and why',
      load: () => import('./commands/recipe/why-rebuild.ts'),
    },
  ]),
  { name: 'build', summary: 'Lock, build and seal a candidate', load: () => import('./commands/build.ts') },
  {
    name: 'test',
    summary: 'Boot a sealed version on fresh machines',
    load: () => import('./commands/test.ts'),
  },
  {
    name: 'release',
    summary: 'From a recipe to production, in one operation',
    load: () => import('./commands/release.ts'),
  },
  group('image', 'The catalogue of versions', [
    {
      name: 'list',
      summary: 'Images, or the versions of one',
      load: () => import('./commands/image/list.ts'),
    },
    {
      name: 'show',
      summary: 'One version with its evidence',
      load: () => import('./commands/image/show.ts'),
    },
    {
      name: 'ancestors',
      summary: 'What a version was made from',
      load: () => import('./commands/image/ancestors.ts'),
    },
    {
      name: 'descendants',
      summary: 'Everything made from a version',
      load: () => import('./commands/image/descendants.ts'),
    },
    {
      name: 'nodes',
      summary: 'The live nodes that run a version, or anything made from it',
      load: () => import('./commands/image/nodes.ts'),
    },
    {
      name: 'withdraw',
      summary: 'Take a broken version out',
      load: () => import('./commands/image/withdraw.ts'),
    },
    {
      name: 'restore',
      summary: 'Take a withdrawal back',
      load: () => import('./commands/image/restore.ts'),
    },
    {
      name: 'withdrawals',
      summary: 'What was withdrawn, and who still runs it',
      load: () => import('./commands/image/withdrawals.ts'),
    },
    {
      name: 'hold',
      summary: 'Keep a version from being deleted',
      load: () => import('./commands/image/hold.ts'),
    },
    {
      name: 'release',
      summary: 'End a hold',
      load: () => import('./commands/image/unhold.ts'),
    },
    { name: 'notes', summary: 'Release notes', load: () => import('./commands/image/notes.ts') },
    {
      name: 'diff',
      summary: 'What differs between two versions',
      load: () => import('./commands/image/diff.ts'),
    },
    { name: 'sbom', summary: 'Software bill of materials', load: () => import('./commands/image/sbom.ts') },
    {
      name: 'provenance',
      summary: 'How a version was made',
      load: () => import('./commands/image/provenance.ts'),
    },
    {
      name: 'verify',
      summary: 'Read a version again, and mend it',
      load: () => import('./commands/image/verify.ts'),
    },
    {
      name: 'attest',
      summary: 'Attach the report of a scanner',
      load: () => import('./commands/image/attest.ts'),
    },
    {
      name: 'approve',
      summary: 'Approve a version for a channel',
      load: () => import('./commands/image/approve.ts'),
    },
    {
      name: 'compare',
      summary: 'What two versions were tested together with',
      load: () => import('./commands/image/compare.ts'),
    },
    { name: 'sign', summary: 'Sign a version', load: () => import('./commands/image/sign.ts') },
    { name: 'export', summary: 'Write a disk to a file', load: () => import('./commands/image/export.ts') },
    {
      name: 'import',
      summary: 'Make a version from a disk',
      load: () => import('./commands/image/import.ts'),
    },
    {
      name: 'publish',
      summary: 'Copy a version to a gallery',
      load: () => import('./commands/image/publish.ts'),
    },
    { name: 'push', summary: 'Copy a version to a registry', load: () => import('./commands/image/push.ts') },
    {
      name: 'pull',
      summary: 'Take a version over from a registry',
      load: () => import('./commands/image/pull.ts'),
    },
  ]),
  {
    name: 'resolve',
    summary: 'The exact version behind a reference',
    load: () => import('./commands/resolve.ts'),
  },
  group('channel', 'Names that point at versions', [
    {
      name: 'list',
      summary: 'Where the channels of an image point',
      load: () => import('./commands/channel/list.ts'),
    },
    {
      name: 'promote',
      summary: 'Move a channel to a version',
      load: () => import('./commands/channel/promote.ts'),
    },
    {
      name: 'rollback',
      summary: 'Move a channel back',
      load: () => import('./commands/channel/rollback.ts'),
    },
    {
      name: 'history',
      summary: 'Every move, kept for ever',
      load: () => import('./commands/channel/history.ts'),
    },
    {
      name: 'gates',
      summary: 'What every gate says of a version now',
      load: () => import('./commands/channel/gates.ts'),
    },
    {
      name: 'attestation',
      summary: 'The signed statement of a move',
      load: () => import('./commands/channel/attestation.ts'),
    },
    {
      name: 'sign',
      summary: 'Sign moves from before there was a key',
      load: () => import('./commands/channel/sign.ts'),
    },
    {
      name: 'verify',
      summary: 'Check the signed statement of a move, with no server',
      load: () => import('./commands/channel/verify.ts'),
    },
    { name: 'create', summary: 'Add a channel', load: () => import('./commands/channel/create.ts') },
    { name: 'delete', summary: 'Delete a channel', load: () => import('./commands/channel/delete.ts') },
  ]),
  group('policy', 'The gates before channels', [
    { name: 'check', summary: 'Check a policy file', load: () => import('./commands/policy/check.ts') },
    { name: 'set', summary: 'Put a policy in effect', load: () => import('./commands/policy/set.ts') },
    { name: 'show', summary: 'The policy in force', load: () => import('./commands/policy/show.ts') },
    {
      name: 'history',
      summary: 'Every policy that was ever in force',
      load: () => import('./commands/policy/history.ts'),
    },
  ]),
  group('pool', 'Nodes made from one model', [
    { name: 'create', summary: 'Make a pool', load: () => import('./commands/pool/create.ts') },
    { name: 'list', summary: 'All pools', load: () => import('./commands/pool/list.ts') },
    { name: 'show', summary: 'One pool', load: () => import('./commands/pool/show.ts') },
    {
      name: 'scale',
      summary: 'Change how many nodes it has',
      load: () => import('./commands/pool/scale.ts'),
    },
    {
      name: 'set-image',
      summary: 'Change what new nodes are made from',
      load: () => import('./commands/pool/set-image.ts'),
    },
    {
      name: 'delete',
      summary: 'Take a pool and its nodes away',
      load: () => import('./commands/pool/delete.ts'),
    },
  ]),
  group('node', 'Machines of pools', [
    { name: 'list', summary: 'Nodes, of one pool or of all', load: () => import('./commands/node/list.ts') },
    { name: 'show', summary: 'One node', load: () => import('./commands/node/show.ts') },
    {
      name: 'which',
      summary: 'Which version a node was made from, and why that one',
      load: () => import('./commands/node/which.ts'),
    },
    group('config', 'What nodes are told to be', [
      {
        name: 'validate',
        summary: 'Check a node config',
        load: () => import('./commands/node-config/validate.ts'),
      },
      {
        name: 'render',
        summary: 'What a node reads',
        load: () => import('./commands/node-config/render.ts'),
      },
      {
        name: 'diff',
        summary: 'What changes from one config to another, and what it costs',
        load: () => import('./commands/node-config/diff.ts'),
      },
      {
        name: 'explain',
        summary: 'What a field does, and what a change of it costs',
        load: () => import('./commands/node-config/explain.ts'),
      },
      {
        name: 'set',
        summary: 'Change the config of a pool or a node, in place',
        load: () => import('./commands/node-config/set.ts'),
      },
      {
        name: 'show',
        summary: 'The config that a node has, and what it waits with',
        load: () => import('./commands/node-config/show.ts'),
      },
      {
        name: 'allow',
        summary: 'Let a node apply the config that it waits with',
        load: () => import('./commands/node-config/allow.ts'),
      },
      {
        name: 'hotfix',
        summary: 'Put a component on nodes before an image has it',
        load: () => import('./commands/node-config/hotfix.ts'),
      },
    ]),
    {
      name: 'console',
      summary: 'What a node said on its boot console',
      load: () => import('./commands/node/console.ts'),
    },
    {
      name: 'timeline',
      summary: 'How a node came up',
      load: () => import('./commands/node/timeline.ts'),
    },
    { name: 'shell', summary: 'A root shell on a node', load: () => import('./commands/node/shell.ts') },
  ]),
  group('machine', 'Machines of no pool, as tests use them', [
    { name: 'list', summary: 'All of them', load: () => import('./commands/machine/list.ts') },
    { name: 'show', summary: 'One machine', load: () => import('./commands/machine/show.ts') },
    {
      name: 'delete',
      summary: 'Take a machine and its disk away',
      load: () => import('./commands/machine/delete.ts'),
    },
  ]),
  {
    name: 'prune',
    summary: 'Delete versions that nothing needs',
    load: () => import('./commands/prune.ts'),
  },
  {
    name: 'limits',
    summary: 'How near each limit is, and when it is reached',
    load: () => import('./commands/limits.ts'),
  },
  group('support', 'Until when versions are supported', [
    { name: 'list', summary: 'All dates', load: () => import('./commands/support/list.ts') },
    { name: 'set', summary: 'Set the end of support', load: () => import('./commands/support/set.ts') },
    { name: 'unset', summary: 'Take a date back', load: () => import('./commands/support/unset.ts') },
  ]),
  group('gallery', 'Where versions are copied to', [
    { name: 'add', summary: 'Tell Imago of a gallery', load: () => import('./commands/gallery/add.ts') },
    { name: 'list', summary: 'All galleries', load: () => import('./commands/gallery/list.ts') },
    { name: 'remove', summary: 'Forget a gallery', load: () => import('./commands/gallery/remove.ts') },
  ]),
  group('catalog', 'The catalogue for people', [
    {
      name: 'export',
      summary: 'Write it as a static site and JSON',
      load: () => import('./commands/catalog/export.ts'),
    },
  ]),
  group('webhook', 'Telling others of what happens', [
    { name: 'create', summary: 'Tell someone', load: () => import('./commands/webhook/create.ts') },
    { name: 'list', summary: 'All webhooks', load: () => import('./commands/webhook/list.ts') },
    {
      name: 'log',
      summary: 'What became of the deliveries of one',
      load: () => import('./commands/webhook/log.ts'),
    },
    {
      name: 'resend',
      summary: 'Send again what did not arrive',
      load: () => import('./commands/webhook/resend.ts'),
    },
    { name: 'delete', summary: 'End a webhook', load: () => import('./commands/webhook/delete.ts') },
  ]),
  group('op', 'Operations', [
    { name: 'list', summary: 'Operations, newest first', load: () => import('./commands/op/list.ts') },
    { name: 'show', summary: 'One operation with its steps', load: () => import('./commands/op/show.ts') },
    {
      name: 'watch',
      summary: 'Follow an operation to its end',
      load: () => import('./commands/op/watch.ts'),
    },
    {
      name: 'cancel',
      summary: 'Ask an operation to undo and stop',
      load: () => import('./commands/op/cancel.ts'),
    },
    { name: 'retry', summary: 'Run the same request again', load: () => import('./commands/op/retry.ts') },
  ]),
  group('schedule', 'Operations by the clock', [
    { name: 'list', summary: 'All schedules', load: () => import('./commands/schedule/list.ts') },
    {
      name: 'create',
      summary: 'Start an operation by the clock',
      load: () => import('./commands/schedule/create.ts'),
    },
    { name: 'delete', summary: 'End a schedule', load: () => import('./commands/schedule/delete.ts') },
  ]),
  group('keys', 'What versions are signed with, and whose signatures count', [
    {
      name: 'create',
      summary: 'Make a key, or the next one',
      load: () => import('./commands/keys/create.ts'),
    },
    { name: 'list', summary: 'All keys', load: () => import('./commands/keys/list.ts') },
    { name: 'show', summary: 'The public part of a key', load: () => import('./commands/keys/show.ts') },
    { name: 'revoke', summary: 'End a key that leaked', load: () => import('./commands/keys/revoke.ts') },
    {
      name: 'trust',
      summary: "Let another installation's signatures count",
      load: () => import('./commands/keys/trust.ts'),
    },
    {
      name: 'forget',
      summary: "Let another installation's signatures count no more",
      load: () => import('./commands/keys/untrust.ts'),
    },
  ]),
  group('token', 'Access over the network', [
    { name: 'create', summary: 'Make a token', load: () => import('./commands/token/create.ts') },
    { name: 'list', summary: 'All tokens', load: () => import('./commands/token/list.ts') },
    { name: 'revoke', summary: 'End a token', load: () => import('./commands/token/revoke.ts') },
  ]),
  { name: 'audit', summary: 'Who changed what', load: () => import('./commands/audit.ts') },
  group('problem', 'What Imago could not repair', [
    {
      name: 'list',
      summary: 'List what Imago could not repair, newest first',
      load: () => import('./commands/problem/list.ts'),
    },
    { name: 'show', summary: 'Show one problem', load: () => import('./commands/problem/show.ts') },
    {
      name: 'resolve',
      summary: 'Mark a problem as resolved',
      load: () => import('./commands/problem/resolve.ts'),
    },
  ]),
  {
    name: 'backup',
    summary: 'Write a backup of the database to a file',
    load: () => import('./commands/backup.ts'),
  },
  {
    name: 'restore',
    summary: 'Load a backup into an empty database',
    load: () => import('./commands/restore.ts'),
  },
  group('sim', 'The simulated provider', [
    group('fault', 'Faults on order', [
      { name: 'list', summary: 'Faults that wait', load: () => import('./commands/sim-fault/list.ts') },
      { name: 'add', summary: 'Order a fault', load: () => import('./commands/sim-fault/add.ts') },
      { name: 'remove', summary: 'Take a fault back', load: () => import('./commands/sim-fault/remove.ts') },
    ]),
  ]),
  group('config', 'Settings of the daemon', [
    { name: 'list', summary: 'List the settings', load: () => import('./commands/config/list.ts') },
    { name: 'get', summary: 'Print a setting', load: () => import('./commands/config/get.ts') },
    { name: 'set', summary: 'Set a setting', load: () => import('./commands/config/set.ts') },
    { name: 'unset', summary: 'Remove a setting', load: () => import('./commands/config/unset.ts') },
  ]),
  { name: 'up', summary: 'Start the daemon', load: () => import('./commands/up.ts') },
  { name: 'down', summary: 'Stop the daemon and its database', load: () => import('./commands/down.ts') },
  { name: 'status', summary: 'What runs', load: () => import('./commands/status.ts') },
  {
    name: 'doctor',
    summary: 'What this machine lacks, and how to get it',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'completion',
    summary: 'Completion for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
  { name: 'version', summary: 'The version of Imago', load: () => import('./commands/version.ts') },
]);
