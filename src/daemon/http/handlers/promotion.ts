// Channels, gates and their policy, approvals, scan reports, signed statements, releases.

import { localOwner } from '../../../domain/access/roles.ts';
import { checkPointer } from '../../../domain/channel/channel.ts';
import { channelLine } from '../../../domain/channel/minor-channel.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { type OperationDeclaration, operationRequest } from '../../../domain/operation/declaration.ts';
import { comparePolicies } from '../../../domain/policy/compare.ts';
import { release, releaseNewer } from '../../../domain/release/operations.ts';
import type { Json } from '../../../domain/value/json.ts';
import { attestMove, findStatement, type KnownStatement } from '../../../operations/channel/attest-move.ts';
import { decide } from '../../../operations/channel/gate-facts.ts';
import { channelTrail } from '../../../operations/channel/moves.ts';
import { allPages } from '../../../operations/common/all-pages.ts';
import { requireChannel, requireImage, requireVersion } from '../../../operations/common/require.ts';
import type {
  Catalogue,
  ChannelMove,
  ChannelRecord,
  VersionRecord,
} from '../../../ports/database/catalog.ts';
import type { PolicyRecord } from '../../../ports/database/promotion.ts';
import type { Schedule } from '../../../ports/database/schedules.ts';
import type { Call, Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { readPolicy } from '../endpoint/read-policy.ts';
import { startOperation } from '../endpoint/start-operation.ts';
import { personOf } from '../guard/caller.ts';
import { requireKeys } from './signing-key.ts';

export const promotionHandlers = {
  async showGates({ context, query, caller }) {
    const { catalogue } = context;
    const { image, version } = await catalogue.resolve(query.reference);
    const { result } = await decide(context, {
      version: await requireVersion(context, image, version),
      channel: query.channel,
      requester: personOf(caller),
      now: context.clock.now(),
    });
    return result;
  },
  async showMoveAttestation({ context, path }) {
    const found = await findStatement(context, path.move);
    if (found !== undefined) return statementView(found);
    const { image, channel } = await requireMove(context.catalogue, path.move);
    throw new ImagoError('attestation-missing', `Move ${path.move} was not signed.`, {
      hint: `With a key of \`imago keys create\`: \`imago channel sign ${image}:${channel} --move ${path.move}\`.`,
    });
  },
  async showPolicy({ context }) {
    const policy = await context.promotion.getPolicy();
    if (policy === undefined) throw new ImagoError('policy-missing', 'No policy is active.');
    return shown(policy);
  },
  async listPolicies({ context, query }) {
    const page = await context.promotion.listPolicies(pageQuery(query));
    return { ...page, items: page.items.map(shown) };
  },
  async listComposed({ context, path }) {
    const { digest } = await requireVersion(context, path.image, path.version);
    return { items: await context.promotion.listComposed(digest) };
  },
  async createChannel({ context, path, body }) {
    await requireImage(context, path.image);
    const { name, forTesting, public: isPublic, after } = body;
    if (after !== undefined) await requireChannel(context, path.image, after);
    const takes = forTesting ? 'candidates too' : 'available versions only';
    return {
      subject: `image/${path.image}`,
      plan: async () => [
        `Add channel ${name} to ${path.image}, ${after === undefined ? 'as the last' : `behind ${after}`}; it takes ${takes}.`,
      ],
      run: () =>
        context.catalogue.createChannel({
          ...{ image: path.image, name, forTesting, public: isPublic },
          ...(after === undefined ? {} : { after }),
        }),
    };
  },
  async deleteChannel({ context, path, query, caller }) {
    const channel = await requireChannel(context, path.image, path.channel);
    requireReason(query.why);
    return {
      subject: `image/${path.image}`,
      before: channelTrail(channel),
      plan: async () => {
        checkPointer(channel, query.expect);
        const now = channel.version === undefined ? 'is empty' : `points at ${channel.version}`;
        return [`Delete channel ${path.image}:${path.channel}, which ${now}. Its moves are kept.`];
      },
      async run() {
        await context.catalogue.deleteChannel({ ...path, ...query, by: caller.who });
        return channel;
      },
      record: () => null,
    };
  },
  async signMove({ context, path }) {
    requireKeys(context);
    const move = await requireMove(context.catalogue, path.move);
    const { image, channel, to } = move;
    if (to === undefined) {
      throw new ImagoError('attestation-refused', `Move ${path.move} left ${image}:${channel} empty.`);
    }
    const before = await findStatement(context, path.move);
    return {
      subject: `image/${image}`,
      plan: async () => signPlan(`move ${path.move}: ${image}:${channel} to ${to}, at ${move.at}`, before),
      async run() {
        const isSigned = await attestMove(context, path.move);
        const signed = await findStatement(context, path.move);
        if (isSigned && signed !== undefined) return statementView(signed);
        throw new ImagoError('key-not-found', 'No key signs now.', {
          hint: 'Make one with `imago keys create`.',
        });
      },
    };
  },
  async setPolicy({ context, body, caller }) {
    const { policy, digest } = readPolicy(body.text, body.fileName);
    requireReason(body.why);
    const before = await context.promotion.getPolicy();
    const channels: ChannelRecord[] = [];
    for await (const { name } of allPages((page) => context.catalogue.listImages(page))) {
      channels.push(...(await context.catalogue.listChannels(name)));
    }
    const { lines, risks } = comparePolicies(before?.policy, policy, channels, context.clock.now());
    return {
      subject: 'policy',
      ...(before === undefined ? {} : { before: { id: before.id, digest: before.digest } }),
      plan: async () => [
        ...risks,
        before?.digest === digest
          ? 'This policy is already in effect.'
          : `Put the policy in effect for all images (${digest}).`,
        ...lines.filter((line) => !risks.includes(line)),
      ],
      async run() {
        const { text, why } = body;
        if (risks.length > 0 && body.accept !== true) {
          throw new ImagoError('policy-loosens', `The policy removes protection: ${risks.join(' ')}`);
        }
        return shown(await context.promotion.setPolicy({ policy, text, digest, by: caller.who, why }));
      },
      record: ({ id }) => ({ id, digest }),
    };
  },
  async approveVersion({ context, path, body, caller }) {
    const version = await requireVersion(context, path.image, path.version);
    await requireChannel(context, path.image, body.channel);
    if (caller.who === localOwner) {
      throw new ImagoError('approval-refused', '`local` is not a person, so its approval does not count.', {
        hint: 'Use your own token, from your own account: `imago token create`, then IMAGO_URL and IMAGO_TOKEN.',
      });
    }
    const { by, osUser } = personOf(caller);
    const word = body.approve ? 'approved' : 'refused';
    return {
      subject: `digest/${version.digest}`,
      plan: async () => [`Record that ${caller.who} ${word} ${named(version)} for ${body.channel}.`],
      async run() {
        const given = await context.catalogue.addEvidence({
          digest: version.digest,
          kind: 'approval',
          passed: body.approve,
          summary: `${word} for ${body.channel}${body.why === undefined ? '' : `: ${body.why}`}`,
          details: { channel: body.channel, role: caller.role, ...(osUser && { osUser }) },
          by,
        });
        await wakeReleases(context, path.image).catch(() => undefined);
        return given;
      },
    };
  },
  async attachScan({ context, path, body, caller }) {
    const version = await requireVersion(context, path.image, path.version);
    requireSameSubject(version, body.subjects);
    const { counts } = body;
    const found = Object.entries(counts).filter(([, count]) => count > 0);
    const summary = `${body.tool}: ${found.map(([level, count]) => `${count} ${level}`).join(', ') || 'no finding'}`;
    return {
      subject: `digest/${version.digest}`,
      plan: async () => [`Attach to ${named(version)}: ${summary}.`],
      async run() {
        const attached = await context.catalogue.addEvidence({
          digest: version.digest,
          kind: 'scan',
          passed: found.length === 0,
          summary,
          details: { ...body, counts: { ...counts } } as Json,
          by: caller.who,
        });
        await wakeReleases(context, path.image).catch(() => undefined);
        return attached;
      },
    };
  },
  async createRelease(call) {
    const { declaration, input } = await releaseOf(call);
    return startOperation(call, declaration, input);
  },
  async scheduleRelease(call) {
    const { context, caller, body } = call;
    const { name, cron, timeZone = 'UTC' } = body;
    const { declaration, input } = await releaseOf(call);
    if (body.sent !== undefined) throw keptElsewhere();
    const release = operationRequest(declaration, input);
    const schedule: Schedule = { ...release, name, cron, timeZone, ...personOf(caller) };
    await context.schedules.check(schedule);
    await context.operations.plan({ ...release, ...personOf(caller) });
    return {
      subject: `schedule/${name}`,
      plan: async () => [`Start ${release.subject} at ${cron} (${timeZone}), for ${caller.who}.`],
      run: () => context.schedules.create(schedule),
    };
  },
} satisfies Partial<Handlers>;

function keptElsewhere(): ImagoError {
  return new ImagoError(
    'recipe-local-input',
    'The recipe has files, which are sent for one run and then pruned.',
    {
      hint: 'Let a schedule of your CI run `imago release`, or create the schedule on the host of the daemon.',
    },
  );
}

function signPlan(what: string, before: KnownStatement | undefined): readonly string[] {
  if (before === undefined) return [`Sign ${what}.`];
  if (before.problem === undefined) return ['It is signed already.'];
  return [`Sign ${what} again.`, `The previous statement is not valid (${before.problem}), and is retained.`];
}

function statementView({ attestation, problem, earlier }: KnownStatement) {
  const { id: _, ...shownOne } = attestation;
  return {
    ...shownOne,
    ...(problem === undefined ? {} : { problem }),
    earlier: earlier.map(({ envelope, at }) => ({ envelope, at })),
  };
}

async function requireMove(catalogue: Catalogue, id: number): Promise<ChannelMove> {
  const move = await catalogue.getMove(id);
  if (move !== undefined) return move;
  throw new ImagoError('attestation-missing', `There is no move ${id}.`, {
    hint: 'See `imago channel history`.',
  });
}

/** The requested release. Throws everything that is wrong with its recipe. */
async function releaseOf({
  body,
  caller,
  context,
}: Pick<Call<'createRelease'>, 'body' | 'caller' | 'context'>): Promise<{
  readonly declaration: Pick<OperationDeclaration, 'kind' | 'input' | 'subject'>;
  readonly input: object;
}> {
  const { provider, bump, newest, locked, channels, waitSeconds, why, whenNewer } = body;
  if (locked === true && (newest === true || whenNewer === true))
    throw new ImagoError(
      'input-invalid',
      'A release uses the lock as it is, or the newest inputs, but not both.',
    );
  const { receiveRecipe } = await import('../endpoint/read-recipe.ts');
  const { recipe, variants, source } = await receiveRecipe(body, caller);
  requireReason(why);
  const order = channels ?? (await channelOrder(context.catalogue, recipe.name));
  const input = {
    ...(recipe.matrix === undefined ? variants[0] : { image: recipe.name, variants }),
    ...{ provider, bump, newest, locked, why, source, channels: order, waitMs: waitSeconds * 1000 },
  };
  return whenNewer === true
    ? { declaration: releaseNewer, input: { input } }
    : { declaration: release, input };
}

/** Waiting releases check their gates periodically; this only makes them faster. */
async function wakeReleases({ operationLists, operations }: DaemonContext, image: string): Promise<void> {
  const subject = `release/${image}`;
  // A release that is about to wait is not listed as waiting yet: the message is stored until then.
  for (const state of ['running', 'waiting'] as const) {
    for (const { id, kind } of (await operationLists.list({ subject, state }, { limit: 10 })).items) {
      if (kind === release.kind) await operations.wake(id);
    }
  }
}

/** The order of the image's plain channels; that of new images when there is none yet. */
async function channelOrder(catalogue: Catalogue, image: string): Promise<string[]> {
  const known = await catalogue.listChannels(image);
  const plain = known.filter(({ name, managed }) => !managed && channelLine(name) === undefined);
  const names = plain.map(({ name }) => name);
  return names.length === 0 ? ['staging', 'production'] : names;
}

function requireReason(reason: string): void {
  if (reason.trim() !== '') return;
  throw new ImagoError('reason-missing', 'The reason is empty.');
}

/** A report that says what it is about must be about this version: its digest or its disk. */
function requireSameSubject(version: VersionRecord, subjects: readonly string[]): void {
  if (subjects.length === 0) return;
  const own = [version.digest, version.diskDigest].map((digest) => digest.replace('sha256:', ''));
  if (subjects.some((subject) => own.includes(subject))) return;
  throw new ImagoError(
    'scan-elsewhere',
    `The report is not about ${named(version)} but about ${subjects[0]}.`,
  );
}

function named({ image, version }: Pick<VersionRecord, 'image' | 'version'>): string {
  return `${image}:${version}`;
}

function shown({ id, digest, text, by, why, at }: PolicyRecord) {
  return { id, digest, text, by, why, at };
}
