// All migrations in their order. A new one is added at the end, and nowhere else.
import { events } from './0001-events.ts';
import { operations } from './0002-operations.ts';
import { catalogue } from './0003-catalogue.ts';
import { fleet } from './0004-fleet.ts';
import { access } from './0005-access.ts';
import { promotion } from './0006-promotion.ts';
import { lifecycle } from './0007-lifecycle.ts';
import { reach } from './0008-reach.ts';
import { signedAnew } from './0009-signed-anew.ts';
import { matrix } from './0010-matrix.ts';
import { problems } from './0011-problems.ts';
import { owners } from './0012-owners.ts';
import { simulated } from './0013-simulated.ts';
import { calls } from './0014-calls.ts';
import { eventOrder } from './0015-event-order.ts';
import { rollouts } from './0016-rollouts.ts';
import { clusters } from './0017-clusters.ts';
import { prototypes } from './0018-prototypes.ts';
import { freshness } from './0019-freshness.ts';
import { windowsNumbering } from './0020-windows-numbering.ts';
import type { Migration } from './migration.ts';

export const migrations: readonly Migration[] = [
  events,
  operations,
  catalogue,
  fleet,
  access,
  promotion,
  lifecycle,
  reach,
  signedAnew,
  matrix,
  problems,
  owners,
  simulated,
  calls,
  eventOrder,
  rollouts,
  clusters,
  prototypes,
  freshness,
  windowsNumbering,
];
