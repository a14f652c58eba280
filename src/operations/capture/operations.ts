// Makes a prototype: a node is emptied, stopped, copied, and returned to service; the copy is cleaned, scanned, sealed,
// and tested, and overlays the version that the pool follows. Everything slow happens after the node is back.

import type { CaptureInput } from '../../domain/capture/operations.ts';
import * as declared from '../../domain/capture/operations.ts';
import { type PrototypeDecision, prototypeLine } from '../../domain/capture/prototype.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { describeGate } from '../../domain/gate/describe.ts';
import { isOpen } from '../../domain/gate/gate.ts';
import { nameOf } from '../../domain/kube/objects.ts';
import { capturedGates } from '../../domain/policy/policy.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import type { DrainPreview } from '../../ports/kube/cluster.ts';
import type { CapturedDisk, Disks } from '../../ports/provider/disks.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { decideCaptured } from '../channel/gate-facts.ts';
import { requireImages, requireRole, simulatedBy } from '../common/deps.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { publishStep } from '../gallery/copy-version.ts';
import { type CandidateFacts, requireLine, sealStep, takeNumber } from '../image/candidate.ts';
import { recordsStep, type Subject, signStep } from '../image/describe.ts';
import { refreshFreshness } from '../image/outdated.ts';
import { imageTest } from '../image-test/operations.ts';
import { requirePool } from '../node/pool-nodes.ts';
import { poolSetImage } from '../pool/set-image.ts';
import { prune } from '../retention/operations.ts';
import {
  type Donor,
  type DonorResults,
  donorSteps,
  drainRules,
  dropSnapshot,
  noCluster,
  snapshotName,
} from './donor-steps.ts';
import { readDonors, requireDonor } from './donors.ts';

interface Numbered {
  readonly version: string;
  /** ISO time. */
  readonly at: string;
}

interface Results extends DonorResults {
  readonly clean: CapturedDisk;
  readonly number: Numbered;
}

type CaptureRun = Run<CaptureInput, Results>;

const cleanDeadlineMs = 6 * 3_600_000;

export const capture = operation(declared.capture, {
  async plan(run) {
    const { name } = run.input;
    const { donor, pool, preview, candidates } = await chooseDonor(run);
    const { follows } = pool;
    const channel = `${(pool.base ?? pool).image}:${follows}`;
    return [
      `Capture node ${donor.node} of pool ${name}, the best of ${candidates} candidates.`,
      ...(preview === undefined
        ? ['The node is not drained: its pods stop without being evicted.']
        : describeDrain(donor.node, preview)),
      `Stop the node, copy its disk, start it again, and return it to service when it is ready: ${await expectAway(run)}.`,
      `Clean and scan the copy, seal it as a candidate of ${prototypeLine(name)}, and test it on two machines.`,
      follows === undefined
        ? `Create new nodes of pool ${name} from it; existing nodes stay.`
        : `Create new nodes of pool ${name} from it if it passes the gates of ${channel} for captured versions; existing nodes stay.`,
      `Keep the ${run.input.keep} newest prototypes.`,
    ];
  },
})
  .step('choose', async (run) => (await chooseDonor(run)).donor)
  .steps<DonorResults>(donorSteps)
  .step('clean', {
    timeoutMs: cleanDeadlineMs,
    async do(run) {
      const { name } = run.input;
      const image = prototypeLine(name);
      const { digest: parent, provider } = run.result('choose');
      return requireSealing(run.provider(provider))(
        snapshotName(run),
        image,
        (path) => requireImages(run).files.sealCaptured({ path, image, parent }, run),
        run.call,
      );
    },
  })
  .step('drop-copy', async (run) => void (await dropSnapshot(run)))
  .step('number', async (run): Promise<Numbered> => {
    const version = await takeNumber(run, await factsOf(run));
    return { version, at: new Date(run.clock.now()).toISOString() };
  })
  .use(recordsStep(subjectOf, { lenient: true }))
  .use(signStep(subjectOf))
  .use(
    sealStep<CaptureInput, Results>(findSealed, async (run) => {
      const { node, image, version } = run.result('choose');
      return {
        facts: await factsOf(run),
        version: run.result('number').version,
        disk: run.result('clean'),
        origin: { kind: 'captured', node, parent: `${image}:${version}` },
        restricted: (await requireVersion(run, image, version)).restricted === true,
      };
    }),
  )
  .step('audit', {
    async do(run) {
      const { digest, cleaned, files } = run.result('clean');
      const { node, machineId, imagedAt, provider, image, version, digest: before } = run.result('choose');
      const { awayMs } = run.result('restore');
      const changes = await describeChanges(run, before, digest);
      const evidence = await run.catalogue.addEvidence({
        ...{ digest, kind: 'capture', passed: true },
        summary: `captured from ${node}: ${cleaned} paths cleaned, nothing found in ${files} files`,
        details: {
          node,
          machineId,
          imagedAt,
          parent: `${image}:${version}`,
          cleaned,
          files,
          changes,
          awayMs,
        },
        ...simulatedBy(run, provider),
        ...{ by: run.operation.by, operation: run.operation.id },
      });
      return { evidence: evidence.id };
    },
    verify: (run) => findEvidence(run, 'capture'),
  })
  .child('test', imageTest, (run) => {
    const { image, version } = run.result('seal');
    const { provider } = run.result('choose');
    return { reference: `${image}:${version}`, provider, firmware: ['direct' as const] };
  })
  .step('resolve', (run) => {
    const { image, version } = run.result('seal');
    return run.catalogue.resolve(`${image}:${version}`);
  })
  .use(publishStep(async (run) => (await requirePool(run, run.input.name)).provider))
  .step('gates', {
    async do(run) {
      const { name } = run.input;
      const { image, version: number, digest } = run.result('seal');
      const pool = await requirePool(run, name);
      if (pool.follows === undefined) return { evidence: 0 };
      const { base } = run.result('choose');
      const version = await requireVersion(run, image, number);
      const channel = await run.catalogue.getChannel((pool.base ?? pool).image, pool.follows);
      if (channel === undefined)
        throw new ImagoError('channel-not-found', `Pool ${name} follows a channel that no longer exists.`);
      const { operation: by, requester } = run;
      const policy = await run.promotion.getPolicy();
      const asked = capturedGates(policy?.policy, channel.image, channel.name);
      if (asked.fresh) await refreshFreshness(run, version);
      const { passed, gates } = await decideCaptured(
        run,
        { version, requester, now: run.clock.now() },
        channel,
      );
      const closed = gates.filter((gate) => !isOpen(gate));
      const decision: PrototypeDecision = { pool: name, channel: channel.name, base };
      const evidence = await run.catalogue.addEvidence({
        ...{ digest, kind: 'gates', passed, details: { ...decision, gates } },
        summary: passed ? `pool ${name} can use it` : `blocked: ${closed.map(({ gate }) => gate).join(', ')}`,
        ...simulatedBy(run, pool.provider),
        ...{ by: by.by, operation: by.id },
      });
      if (passed) return { evidence: evidence.id };
      throw new ImagoError(
        'gate-closed',
        `${image}:${number} is not used in pool ${name}: ${closed.map(describeGate).join('; ')}.`,
        { hint: 'A policy can have its own gates for captured versions: `captured` of the channel.' },
      );
    },
    verify: (run) => findEvidence(run, 'gates'),
  })
  .step('model', async (run) => {
    const { reference, follows } = await requirePool(run, run.input.name);
    const { image, version } = run.result('seal');
    return { reference: follows === undefined ? `${image}:${version}` : reference };
  })
  .child('set-image', poolSetImage, (run) => ({
    name: run.input.name,
    reference: run.result('model').reference,
  }))
  .child('prune', prune, (run) => ({ image: run.result('seal').image, keepCount: run.input.keep }))
  .result((run) => {
    const { node } = run.result('choose');
    const { image, version, digest } = run.result('seal');
    const { awayMs } = run.result('restore');
    const used = run.result('set-image').digest === digest;
    return { pool: run.input.name, node, image, version, digest, awayMs, used };
  });

/** Throws `capture-refused`, `drain-blocked`, or `provider-lacks` before anything is changed. */
async function chooseDonor(run: Reading<CaptureInput>) {
  const { name, node: named, noDrain } = run.input;
  const donors = await readDonors(run, name, run.input);
  const { pool, choice, versions } = donors;
  const provider = run.provider(pool.provider);
  requireSealing(provider);
  await requireLine(run, prototypeLine(name), provider.abilities.simulated ? true : undefined);
  const cluster = await run.clusterOf(pool);
  if (cluster === undefined && !noDrain) throw noCluster(name);
  const found = requireDonor(donors, named);
  const { machineId, imagedAt, osDisk: disk = '', protection, image, version } = found;
  const made = versions.get(`${image}:${version}`);
  if (made === undefined)
    throw new ImagoError('capture-refused', `Node ${found.name} was created from an unknown version.`);
  const object = noDrain ? undefined : await cluster?.node(cluster.nodeName(found), run.call);
  const preview = noDrain
    ? undefined
    : await cluster?.previewDrain(cluster.nodeName(found), { ...drainRules(run.input), ...run.call });
  if (preview !== undefined) requireDrainable(found.name, preview);
  const uid = object?.metadata.uid;
  const donor: Donor = {
    ...{
      node: found.name,
      provider: provider.name,
      machineId,
      imagedAt,
      disk,
      image,
      version,
      digest: made.version.digest,
      protection,
    },
    base: (pool.base ?? pool).digest,
    ...(uid !== undefined && { uid }),
  };
  const candidates = choice.nodes.filter(({ isCandidate }) => isCandidate).length;
  return { donor, pool, preview, candidates };
}

/** How long the nodes of the last captures were away. */
async function expectAway({ catalogue, input }: Reading<CaptureInput>): Promise<string> {
  const line = prototypeLine(input.name);
  const isNew = (await catalogue.getImage(line)) === undefined;
  const { items } = isNew ? { items: [] } : await catalogue.listVersions(line, { limit: 5 });
  const times: number[] = [];
  for (const { digest } of items)
    for (const { kind, details } of await catalogue.listEvidence(digest)) {
      const { awayMs } = Object(details) as { readonly awayMs?: unknown };
      if (kind === 'capture' && typeof awayMs === 'number') times.push(awayMs);
    }
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  return middle === undefined
    ? `no earlier capture shows how long that takes; the limit is ${input.readyTimeout} from its start`
    : `it is expected to be away for ${formatDuration(middle)}, as in earlier captures`;
}

/** Throws `provider-lacks` if the disks of nodes cannot be copied and read. */
function requireSealing(provider: Provider): NonNullable<Disks['sealSnapshot']> {
  const disks = requireRole(provider, 'disks');
  if (provider.abilities.snapshots && disks.sealSnapshot !== undefined) return disks.sealSnapshot;
  throw new ImagoError(
    'provider-lacks',
    `Provider ${provider.name} cannot read copies of the disks of nodes.`,
  );
}

/** Waiting helps with a budget that allows one pod after the other, and not with one that never does. */
function requireDrainable(node: string, { plan, blockers }: DrainPreview): void {
  const reasons = [
    ...plan.refuse.map(({ pod, reasons: why }) => `${nameOf(pod)} (${why.join(', ')})`),
    ...blockers
      .filter(({ blocks }) => blocks === 'never')
      .map(({ budgets, reason }) => `${budgets.join(', ')} (${reason})`),
  ];
  if (reasons.length === 0) return;
  throw new ImagoError('drain-blocked', `Node ${node} cannot be drained: ${reasons.join('; ')}.`);
}

function describeDrain(node: string, { plan, blockers }: DrainPreview): readonly string[] {
  const pods = plan.evict.map(({ pod }) => nameOf(pod));
  const list = pods.length === 0 ? '' : `: ${pods.join(', ')}`;
  return [
    `Cordon and drain node ${node}: ${pods.length} pods move${list}.`,
    ...blockers.map(({ budgets, reason }) => `The drain waits for ${budgets.join(', ')}: ${reason}.`),
  ];
}

async function factsOf(run: Pick<CaptureRun, 'input' | 'catalogue' | 'result' | 'provider'>) {
  const { image, version, provider } = run.result('choose');
  const parent = await requireVersion(run, image, version);
  const known = await run.catalogue.getImage(image);
  return {
    ...{ name: prototypeLine(run.input.name), numbering: 'calendar', channels: false },
    ...{ os: known?.os ?? 'linux', architecture: known?.architecture ?? 'x64' },
    kubernetes: parent.kubernetes,
    ...simulatedBy(run, provider),
  } satisfies CandidateFacts;
}

/** Absent for a simulated version: the local store does not have it. */
function subjectOf(run: CaptureRun): Subject | undefined {
  if (run.images === undefined) return undefined;
  const { digest } = run.result('clean');
  const { version, at: createdAt } = run.result('number');
  const { image, version: number } = run.result('choose');
  const parent = { image, version: number };
  return { image: prototypeLine(run.input.name), version, digest, createdAt, parent, reused: false };
}

function findSealed(run: CaptureRun) {
  return run.catalogue.findVersionByDigest(prototypeLine(run.input.name), run.result('clean').digest);
}

/** What the version has that its parent does not have, as text. */
async function describeChanges(run: CaptureRun, before: string, after: string): Promise<string> {
  if ((await run.images?.find(after)) === undefined || (await run.images?.find(before)) === undefined)
    return 'The disks cannot be compared here.';
  const diff = await run.images?.records.diff(before, after, run.signal);
  return (diff?.text ?? '').slice(0, maxChanges);
}

const maxChanges = 100_000;

async function findEvidence(
  run: Pick<CaptureRun, 'catalogue' | 'result' | 'operation'>,
  kind: 'capture' | 'gates',
): Promise<{ readonly evidence: number } | undefined> {
  const all = await run.catalogue.listEvidence(run.result('clean').digest);
  const mine = all.find((one) => one.kind === kind && one.operation === run.operation.id && one.passed);
  return mine && { evidence: mine.id };
}
