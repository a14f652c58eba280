// Lineage, withdrawal, retention, limits and support.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { PruneInput } from '../../../domain/retention/operations.ts';
import { kubernetesCalendar } from '../../../domain/support/calendar.ts';
import { checkSupportDate, mergeDates, type SupportDate } from '../../../domain/support/support.ts';
import { checkReason } from '../../../domain/withdrawal/withdrawal.ts';
import { requireVersion } from '../../../operations/common/require.ts';
import { readLimits } from '../../../operations/gallery/limits.ts';
import { planPrune } from '../../../operations/retention/operations.ts';
import type { SetSupportDate } from '../../../ports/database/lifecycle.ts';
import type { VersionName } from '../../../ports/database/lineage.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { StreamedJson } from '../response/json-response.ts';

export const lifecycleHandlers = {
  async listAncestors({ context, path }) {
    const found = await context.lifecycle.lineage.ancestry(path);
    return found ?? missing(context, path);
  },
  async listDescendants({ context, path, query }) {
    const found = await context.lifecycle.lineage.descent(path, query.graph === 'true');
    return found ?? missing(context, path);
  },
  async listVersionNodes({ context, path, query }) {
    await requireVersion(context, path.image, path.version);
    return context.lifecycle.lineage.nodes(path, query.descendants === 'true', pageQuery(query));
  },
  listWithdrawals: ({ context, query }) => context.lifecycle.withdrawals.list(query.image, pageQuery(query)),
  planPrune: async ({ context, query, signal }) => new StreamedJson(pruneParts(context, query, signal)),
  async showLimits({ context, limits, signal }) {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]);
    const providers = () => [...context.providers.values()];
    const { lifecycle, clock } = context;
    return { items: await readLimits({ lifecycle, clock, providers, epoch: 0 }, deadline) };
  },
  async listSupport({ context }) {
    const set = await context.lifecycle.support.list();
    return { items: mergeDates(kubernetesCalendar, set).map((date) => dateView(date, set)) };
  },
  async holdVersion({ context, path, body, caller }) {
    const { image, version } = path;
    await requireVersion(context, image, version);
    const reason = checkReason(`${image}:${version}`, body.reason);
    return {
      subject: `image/${image}`,
      plan: async () => [`Keep ${image}:${version} from being deleted: ${reason}`],
      run: () => context.lifecycle.retention.hold(path, reason, caller.who),
    };
  },
  async releaseVersion({ context, path, caller }) {
    const { image, version } = path;
    const held = await context.lifecycle.retention.getHold(path);
    if (held === undefined) {
      throw new ImagoError('version-state', `${image}:${version} is not held.`);
    }
    return {
      subject: `image/${image}`,
      before: { ...held },
      plan: async () => [`End the hold of ${image}:${version} (${held.reason}).`],
      async run() {
        await context.lifecycle.retention.release(path, caller.who);
        return held;
      },
    };
  },
  async setSupport({ context, body, caller }) {
    const { product, line, endsOn, note = '' } = body;
    checkSupportDate({ product, line, endsOn });
    return {
      subject: `support/${product}/${line}`,
      plan: async () => [`The support of ${product} ${line} ends on ${endsOn}.`],
      async run() {
        const set = await context.lifecycle.support.set({ product, line, endsOn, note, by: caller.who });
        return dateView(set, [set]);
      },
    };
  },
  async unsetSupport({ context, path, caller }) {
    const { product, line } = path;
    const set = await context.lifecycle.support.list();
    const known = set.find((date) => date.product === product && date.line === line);
    if (known === undefined) {
      throw new ImagoError('support-not-found', `No date of support was set for ${product} ${line}.`, {
        hint: 'Run `imago support list`. The calendar itself cannot be removed, only overridden.',
      });
    }
    return {
      subject: `support/${product}/${line}`,
      before: { ...known },
      plan: async () => [`Remove the date ${known.endsOn} for the end of support of ${product} ${line}.`],
      async run() {
        await context.lifecycle.support.unset(product, line, caller.who);
        return dateView(known, set);
      },
    };
  },
} satisfies Partial<Handlers>;

async function* pruneParts(context: DaemonContext, asked: PruneInput, signal: AbortSignal) {
  const parts = planPrune(context, asked);
  try {
    for (;;) {
      signal.throwIfAborted();
      const part = await parts.next();
      if (part.done === true) {
        const cache = await context.cache?.use();
        return { ...part.value, ...(cache === undefined ? {} : { cache: { ...cache } }) };
      }
      yield part.value.map(({ image, version, state, sizeBytes, createdAt, keepers }) => ({
        ...{ image, version, state, sizeBytes, createdAt, keepers: [...keepers] },
      }));
    }
  } finally {
    await parts.return({ kept: 0, going: 0, freedBytes: 0 });
  }
}

function dateView({ product, line, endsOn }: SupportDate, set: readonly SetSupportDate[]) {
  const known = set.find((date) => date.product === product && date.line === line);
  if (known === undefined) return { product, line, endsOn, source: 'calendar' as const };
  const note = known.note === '' ? {} : { note: known.note };
  return { product, line, endsOn, source: 'set' as const, ...note, by: known.by };
}

async function missing(context: DaemonContext, { image, version }: VersionName): Promise<never> {
  await requireVersion(context, image, version);
  throw new ImagoError('internal', `${image}:${version} has no lineage.`);
}
