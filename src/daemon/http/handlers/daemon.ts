// The daemon itself.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { ReadHandlers, StreamHandlers, WriteHandlers } from '../endpoint/call.ts';

export const daemonReads = {
  async status({ context }) {
    const status = await context.status();
    return { ...status, operations: status.operations && { ...status.operations } };
  },
  doctor: ({ context }) => context.doctor(),
  async version({ context }) {
    return { version: context.version, api: 'v1' as const, node: process.versions.node };
  },
} satisfies Partial<ReadHandlers>;

export const daemonWrites = {
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
  async restore({ context, upload, signal }) {
    return {
      subject: 'database',
      async plan() {
        const { madeAt, madeBy, tables, rows } = await context.archive.restore(upload, {
          dryRun: true,
          signal,
        });
        return [
          `Fill the empty database with a backup of ${madeAt}, made by Imago ${madeBy}: ${rows} rows in ${tables} tables.`,
        ];
      },
      run: () => context.archive.restore(upload, { dryRun: false, signal }),
      replacesDatabase: true,
    };
  },
} satisfies Partial<WriteHandlers>;

export const backupStream: StreamHandlers['backup'] = async ({ context, signal }) => {
  const pieces = context.archive.backup(signal)[Symbol.asyncIterator]();
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
        await pieces.return?.();
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
