// A capture on a schedule: it is skipped, with the reason, outside of its windows and if nothing changed.
import type { DonorChoice } from '../../domain/capture/donor.ts';
import * as declared from '../../domain/capture/operations.ts';
import { describeFreshness, newestFreshness } from '../../domain/evidence/freshness.ts';
import { nextOpening, parseWindow } from '../../domain/rollout/window.ts';
import { toIso } from '../../domain/value/time.ts';
import { operation, type Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { refreshFreshness } from '../image/outdated.ts';
import { requirePool } from '../node/pool-nodes.ts';
import { readDonors } from './donors.ts';
import { capture } from './operations.ts';

type Input = ReturnType<(typeof declared.captureScheduled.input)['parse']>;

interface Looked {
  /** Absent if there is something to capture. */
  readonly skipped?: string;
}

export const captureScheduled = operation(declared.captureScheduled, {
  async plan(run) {
    const { name, windows, whenOutdated, unpatched } = run.input;
    await requirePool(run, name);
    return [
      ...(windows.length === 0 ? [] : [`Skip it outside of ${windows.join(', ')}.`]),
      ...(unpatched ? [] : [`Skip it if no node of pool ${name} has newer patches.`]),
      ...(whenOutdated ? ['Skip it if the packages of new nodes are not behind their archive.'] : []),
      `Capture a node of pool ${name}.`,
    ];
  },
})
  .step('look', async (run): Promise<Looked> => {
    const skipped =
      (await outsideWindows(run)) ?? (await nothingOutdated(run)) ?? (await nothingPatched(run));
    if (skipped !== undefined) run.log(`Skipped: ${skipped}`);
    return skipped === undefined ? {} : { skipped };
  })
  .child('capture', capture, (run) => {
    const { windows: _, whenOutdated: __, ...input } = run.input;
    return run.result('look').skipped === undefined ? input : undefined;
  })
  .result((run) => ({ pool: run.input.name, ...run.result('look'), ...run.maybe('capture') }));

function outsideWindows({ input, clock }: Run<Input>): string | undefined {
  const now = clock.now();
  const opens = nextOpening(input.windows.map(parseWindow), now);
  return opens === now ? undefined : `its window opens at ${toIso(new Date(opens))}`;
}

async function nothingOutdated(run: Run<Input>): Promise<string | undefined> {
  if (!run.input.whenOutdated) return undefined;
  const { image, version } = await requirePool(run, run.input.name);
  const model = await requireVersion(run, image, version);
  // What is unknown does not skip it, and an old comparison proves nothing.
  if (!(await refreshFreshness(run, model))) return undefined;
  const found = newestFreshness(model.digest, await run.catalogue.listEvidence(model.digest))?.found;
  if (found === undefined || found.behind.length > 0) return undefined;
  return `${image}:${version}: ${describeFreshness(found, run.clock.now())}`;
}

async function nothingPatched(run: Run<Input>): Promise<string | undefined> {
  const { choice } = await readDonors(run, run.input.name, run.input);
  return isOnlyUnpatched(choice) ? 'no node that can be captured has newer patches' : undefined;
}

function isOnlyUnpatched({ donor, nodes }: DonorChoice): boolean {
  return (
    donor === undefined &&
    nodes.some(({ rules }) => rules.every(({ rule, isMet }) => isMet || rule === 'patched'))
  );
}
