// Creates the context of a standby daemon, which can only read. Writes need the active daemon.
import type { Store } from '../database/open-database.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { OperationDesk } from '../ports/workflow/operation.ts';
import { backupOf, backupParts } from './backup/archive.ts';
import { commonContext } from './common-context.ts';
import type { WireOptions } from './environment.ts';
import type { DaemonContext } from './http/endpoint/context.ts';

export function standbyContext(options: WireOptions, store: Store): DaemonContext {
  const { schedules } = store;
  return {
    ...commonContext(options, store, { providers: new Map() }),
    operations: {
      plan: refuse,
      prepare: refuse,
      submit: refuse,
      cancel: refuse,
      retry: refuse,
      wake: refuse,
      ended: refuse,
    } satisfies OperationDesk,
    schedules: {
      ...{ list: schedules.list, get: schedules.get, review: refuse },
      ...{ check: refuse, create: refuse, delete: refuse },
    },
    archive: { backup: (given) => backupOf(backupParts(options.environment, store), given), restore: refuse },
  };
}

async function refuse(): Promise<never> {
  const message = 'This daemon is on standby: another daemon is active on its database.';
  throw new ImagoError('daemon-standby', message, { httpStatus: 503, retryable: true });
}
