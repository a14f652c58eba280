// Creates the parts of the context that active and standby daemons have in common: reading, and the status.
import { sql } from 'kysely';
import type { ResponseOf } from '../api/contract/types.ts';
import { within } from '../async/deadline.ts';
import type { Store } from '../database/open-database.ts';
import { systemClock } from '../host/system-clock.ts';
import { packageVersion } from '../launcher/package.ts';
import { openSettings } from '../launcher/settings-file.ts';
import type { Provider, ProviderName } from '../ports/provider/provider.ts';
import type { OperationState } from '../ports/workflow/operation.ts';
import { defaultChecks, runDoctor } from './doctor/doctor.ts';
import type { WireOptions } from './environment.ts';
import type { DaemonContext } from './http/endpoint/context.ts';
import { requireAgent } from './providers/images.ts';

export interface CommonParts {
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** Absent on standby. */
  readonly epoch?: number;
}

type CommonContext = Omit<
  DaemonContext,
  | 'operations'
  | 'schedules'
  | 'archive'
  | 'sim'
  | 'clusters'
  | 'controlPlane'
  | 'images'
  | 'sentFiles'
  | 'keys'
  | 'attestor'
  | 'webhookKey'
>;

const databaseTimeoutMs = 1000;
const ROLES = ['gallery', 'pools', 'machines', 'disks', 'builder'] as const;

export function commonContext(options: WireOptions, store: Store, parts: CommonParts): CommonContext {
  const { environment } = options;
  const { lifecycle, processEnv, paths } = environment;
  const { catalogue, promotion, fleet, journal, operationLists, tokens, audit, idempotency, events } = store;
  return {
    version: packageVersion(),
    clock: systemClock,
    ...{ catalogue, promotion, fleet, journal, operationLists, tokens, audit, idempotency, events },
    lifecycle: store.lifecycle,
    galleryBook: store.galleryBook,
    clusterBook: store.clusterBook,
    webhooks: store.webhooks,
    problems: store.problems,
    changes: store.changes,
    providers: parts.providers,
    settings: { ...openSettings(paths.home), running: environment.options },
    ...(parts.epoch === undefined ? {} : { epoch: parts.epoch }),
    status: () => readStatus(options, store, parts),
    doctor: () => runDoctor(defaultChecks(processEnv)),
    agent: () => requireAgent(processEnv.env),
    stop: (asked) => lifecycle.stop(asked),
    stopping: lifecycle.ending,
  };
}

async function readStatus(
  { environment, postgres }: WireOptions,
  store: Store,
  { providers, epoch }: CommonParts,
): Promise<ResponseOf<'status'>> {
  const { paths, runtime, listener, startedAt } = environment;
  const reading = readFacts(store).catch(() => undefined);
  const facts = (await within(reading, databaseTimeoutMs)) ? await reading : undefined;
  return {
    version: packageVersion(),
    daemon: {
      pid: process.pid,
      startedAt: startedAt.toISOString(),
      uptimeSeconds: Math.round(process.uptime() * 10) / 10,
      state: epoch === undefined ? 'standby' : 'active',
      ...(epoch === undefined ? {} : { epoch }),
      node: process.versions.node,
    },
    database: {
      embedded: postgres !== undefined,
      state: facts === undefined ? 'unreachable' : 'ready',
      ...(facts === undefined ? {} : { version: facts.version }),
      ...(postgres === undefined ? {} : { pid: postgres.process.pid }),
    },
    home: paths.home,
    sockets: {
      api: runtime.apiSocket,
      ...(postgres === undefined ? {} : { database: postgres.socketFolder }),
    },
    settings: environment.options.settings,
    ...(listener.tcp === undefined ? {} : { listen: listener.tcp }),
    ...(listener.tls === undefined ? {} : { tls: listener.tls }),
    providers: [...providers.values()].map((provider) => ({
      name: provider.name,
      roles: ROLES.filter((role) => provider[role] !== undefined),
      ...(provider.abilities.emulated === true ? { emulated: true as const } : {}),
    })),
    ...(facts === undefined ? {} : { operations: facts.operations, problems: facts.problems }),
  };
}

interface DatabaseFacts {
  readonly version: string;
  readonly operations: Readonly<Partial<Record<OperationState, number>>>;
  readonly problems: number;
}

/** Reads everything with one query, because scripts call `imago status` often. */
function readFacts({ database }: Store): Promise<DatabaseFacts> {
  return database.read(async (tables) => {
    const found = await sql<{ version: string; operations: string; problems: number }>`
      select split_part(current_setting('server_version'), ' ', 1) as version,
        (select coalesce(json_object_agg(state, count), '{}')::text from (
          select state, count(*) from ${sql.table('imago.operations')}
          where state not in ('succeeded', 'failed', 'cancelled') group by state
        ) as live) as operations,
        (select count(*) from ${sql.table('imago.problems')} where resolved_at is null) as problems
    `.execute(tables);
    const { version = '', operations = '{}', problems = 0 } = found.rows[0] ?? {};
    return { version, problems, operations: JSON.parse(operations) as DatabaseFacts['operations'] };
  });
}
