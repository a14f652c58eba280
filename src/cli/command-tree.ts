// The root of the commands, in the order of the help. A subject is loaded when it is used, so its summary is here.
import { group, subject } from './run/builders.ts';
import { withDerived } from './run/derived.ts';

export const commandTree = {
  summary: 'Manage the life of Kubernetes node images',
  ...group(
    withDerived({
      init: subject(
        'Create a starter recipe in the current directory',
        () => import('./commands/recipe/init.ts'),
      ),
      recipe: subject('Manage recipes', () => import('./commands/recipe/recipe.ts')),
      build: subject(
        'Build a recipe and seal the result as a candidate version',
        () => import('./commands/recipe/build.ts'),
      ),
      test: subject(
        'Boot a version on fresh machines, run its checks, and record the results',
        () => import('./commands/image/test.ts'),
      ),
      release: subject(
        'Lock, build, test, publish, and promote a recipe in one operation',
        () => import('./commands/recipe/release.ts'),
      ),
      image: subject('Manage images and versions', () => import('./commands/image/image.ts')),
      resolve: subject(
        'Resolve an image reference to an exact version and digest',
        () => import('./commands/image/resolve.ts'),
      ),
      channel: subject('Manage channels', () => import('./commands/channel/channel.ts')),
      policy: subject('Manage the promotion policy', () => import('./commands/policy.ts')),
      pool: subject('Manage node pools', () => import('./commands/pool.ts')),
      rollout: subject('Move pools to another version in waves', () => import('./commands/rollout.ts')),
      capture: subject(
        'Make a prototype for new nodes from a node of a pool',
        () => import('./commands/capture.ts'),
      ),
      node: subject('Manage nodes', () => import('./commands/node/node.ts')),
      cluster: subject('Manage the Kubernetes clusters of pools', () => import('./commands/cluster.ts')),
      machine: subject('Manage standalone machines', () => import('./commands/machine.ts')),
      prune: subject('Delete versions that are no longer in use', () => import('./commands/image/prune.ts')),
      limits: subject(
        'Show each limit, its current usage, and when it will be reached',
        () => import('./commands/limits.ts'),
      ),
      support: subject('Manage end-of-support dates', () => import('./commands/support.ts')),
      gallery: subject('Manage galleries', () => import('./commands/gallery.ts')),
      catalog: subject('Publish the catalog', () => import('./commands/catalog.ts')),
      webhook: subject('Manage webhooks', () => import('./commands/webhook.ts')),
      op: subject('Manage operations', () => import('./commands/op.ts')),
      schedule: subject('Manage schedules', () => import('./commands/schedule.ts')),
      keys: subject('Manage signing keys', () => import('./commands/keys.ts')),
      context: subject('Manage the servers that commands talk to', () => import('./commands/context.ts')),
      login: subject('Store the token for a server', () => import('./commands/login.ts')),
      token: subject('Manage API tokens', () => import('./commands/token.ts')),
      changes: subject(
        'List what happened since a time, with who and why, newest first',
        () => import('./commands/changes.ts'),
      ),
      audit: subject(
        'List all write requests, including rejected ones, newest first',
        () => import('./commands/audit.ts'),
      ),
      problem: subject('Manage problems that Imago could not repair', () => import('./commands/problem.ts')),
      backup: subject('Back up the database to a file', () => import('./commands/daemon/backup.ts')),
      restore: subject(
        'Restore a backup into an empty database',
        () => import('./commands/daemon/restore.ts'),
      ),
      agent: subject('Install the agent on images of others', () => import('./commands/agent.ts')),
      azure: subject('Run the Azure emulator', () => import('./commands/azure.ts')),
      sim: subject('Control the simulated provider', () => import('./commands/sim.ts')),
      config: subject('Manage the settings of the daemon', () => import('./commands/daemon/config.ts')),
      up: subject('Start the daemon if it is not running', () => import('./commands/daemon/up.ts')),
      serve: subject('Run the daemon in the foreground', () => import('./commands/daemon/serve.ts')),
      down: subject(
        'Stop the daemon, its database, and its machines',
        () => import('./commands/daemon/down.ts'),
      ),
      status: subject('Show the status of the daemon', () => import('./commands/daemon/status.ts')),
      doctor: subject(
        'Check this host for missing prerequisites and show how to install them',
        () => import('./commands/daemon/doctor.ts'),
      ),
      explain: subject(
        'Explain a field of a recipe, policy, or node config',
        () => import('./commands/explain.ts'),
      ),
      completion: subject(
        'Generate a shell completion script',
        () => import('./commands/daemon/completion.ts'),
      ),
      version: subject('Print the client version', () => import('./commands/daemon/version.ts')),
    }),
  ),
};
