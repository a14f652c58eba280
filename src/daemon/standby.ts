// What a daemon that stands by can do: read, and tell where to go. Writes are for the active one.

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
  throw standingBy();
}

function standingBy(): ImagoError {
  return new ImagoError('daemon-standby', 'This daemon stands by: another one works on its database.', {
    httpStatus: 503,
    retryable: true,
  });
}
