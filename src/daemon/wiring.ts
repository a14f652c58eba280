// Connects the parts of the daemon: the lease decides whether it is active or on standby, and handlers get a context.
import { connectClient } from '../database/connection/connection.ts';
import { acquireLease } from '../database/lease/lease.ts';
import { migrate } from '../database/migrations/migrate.ts';
import { openStore, type Store } from '../database/open-database.ts';
import { startActiveDaemon } from './active-daemon.ts';
import type { WireOptions } from './environment.ts';
import { createApp } from './http/app.ts';
import type { DaemonContext } from './http/endpoint/context.ts';
import { createRequestListener } from './http/request-listener.ts';
import { standbyContext } from './standby.ts';

/** Resolves when the daemon serves requests, either active or on standby until it becomes active. */
export async function wire(options: WireOptions): Promise<void> {
  const { environment, url } = options;
  const { log, lifecycle } = environment;
  const onStandby = Promise.withResolvers<void>();
  let standby: Store | undefined;

  const active = acquireLease({
    connect: () => connectClient(url),
    signal: lifecycle.ending,
    onWaiting() {
      log.info('on standby: another daemon is active on this database');
      standby = openStore({ url, epoch: 0 });
      serve(options, standbyContext(options, standby));
      onStandby.resolve();
    },
  }).then(async (lease) => {
    lifecycle.onStop({ name: 'the lease', deadlineMs: 4000, run: () => lease.release() });
    lease.signal.addEventListener('abort', () => lifecycle.restart('the lease is lost', lease.signal.reason));
    lifecycle.ending.throwIfAborted();
    const { from, to } = await migrate({ url, epoch: lease.epoch });
    if (from !== to) log.info('migrated the database', { from, to });
    serve(options, await startActiveDaemon(options, lease));
    await standby?.close();
    log.info('active', { epoch: lease.epoch });
  });

  active.catch((error) => {
    if (standby !== undefined) lifecycle.restart('it could not take over', error);
  });
  await Promise.race([active, onStandby.promise]);
}

function serve({ environment: { listener, log } }: WireOptions, context: DaemonContext): void {
  listener.serve(createRequestListener(createApp(context, { log })));
}
