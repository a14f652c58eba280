// The daemon itself.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import {
  changeSetting,
  describeChange,
  readSettingName,
  type SettingValue,
  type SettingView,
  viewSetting,
  viewSettings,
} from '../../../domain/settings/settings.ts';
import type { BackupOptions } from '../../../ports/database/archive.ts';
import type { Call, Handlers, PreparedWrite } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';

export const daemonHandlers = {
  backup: (call) => streamBackup(call),
  async status({ context }) {
    const status = await context.status();
    return { ...status, operations: status.operations && { ...status.operations } };
  },
  async listSettings({ context: { settings } }) {
    return { items: viewSettings(settings.read(), settings.running) };
  },
  doctor: ({ context }) => context.doctor(),
  async version({ context }) {
    return { version: context.version, api: 'v1' as const, node: process.versions.node };
  },
  setSetting: async ({ context, path, body }) => changeOf(context, path.setting, body.value),
  unsetSetting: async ({ context, path }) => changeOf(context, path.setting, undefined),
  async shutdown({ context, body }) {
    const database = body.database ?? true;
    return {
      subject: 'daemon',
      async plan() {
        const { operations = {} } = await context.status();
        const live = Object.values(operations).reduce((sum, count) => sum + (count ?? 0), 0);
        return [
          `Stop the daemon (process ${process.pid})${database ? ' and its PostgreSQL' : ''}.`,
          ...(live === 0 ? [] : [`${live} operations stay recorded and go on at the next start.`]),
        ];
      },
      run: async () => ({ pid: process.pid }),
      afterwards: () => context.stop({ database }),
    };
  },
  async restore({ context, upload, ...call }) {
    const options = { ...backupOptions(call), key: call.query.key };
    return {
      subject: 'database',
      async plan() {
        const backup = await context.archive.restore(upload, { ...options, dryRun: true });
        const { madeAt, madeBy, tables, rows, signer, holds, copy, missingDisks } = backup;
        return [
          `Load a backup of ${madeAt}, made by Imago ${madeBy} and signed by key ${signer}: ${rows} rows in ${tables} tables.`,
          ...(holds.includes('keys') && options.withKeys ? ['Restore the keys that it holds.'] : []),
          ...missingDisks.map((name) => `The disk of ${name} is missing here.`),
          ...copy.map(
            ({ what, path }) => `It does not hold the ${what}: copy ${path} from the host that made it.`,
          ),
        ];
      },
      run: () => context.archive.restore(upload, { ...options, dryRun: false }),
      replacesDatabase: true,
    };
  },
} satisfies Partial<Handlers>;

function changeOf(
  { settings }: DaemonContext,
  setting: string,
  value: SettingValue | undefined,
): PreparedWrite<SettingView> {
  const name = readSettingName(setting);
  const before = settings.read();
  changeSetting(before, name, value);
  return {
    subject: `setting/${name}`,
    before: before[name] ?? null,
    plan: async () => [describeChange(name, value)],
    async run() {
      const after = await settings.change((now) => changeSetting(now, name, value));
      return viewSetting(after, name, settings.running);
    },
  };
}

function backupOptions({
  query,
  headers,
  signal,
}: Pick<Call<'backup' | 'restore'>, 'query' | 'headers' | 'signal'>): BackupOptions {
  const given = headers.get('imago-passphrase');
  const passphrase = given === null ? undefined : Buffer.from(given, 'base64').toString('utf8');
  return { withKeys: query.withKeys === 'true', passphrase, signal };
}

const streamBackup: Handlers['backup'] = async ({ context, ...call }) => {
  const pieces = context.archive.backup(backupOptions(call));
  // Read before the head of the answer is sent: a backup that cannot begin is an ordinary error.
  const first = await pieces.next();
  if (first.done === true) throw new ImagoError('internal', 'The backup is empty.');
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(first.value),
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="imago.backup"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
};
