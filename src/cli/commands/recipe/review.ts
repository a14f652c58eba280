// Reviews a recipe against what a channel has: builds it, or finds its version, and prints Markdown for a pull request.
import type { Client } from '../../../api/client/client.ts';
import type { ResponseOf } from '../../../api/contract/types.ts';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import { newestTest } from '../../../domain/evidence/evidence.ts';
import { recipeArguments, recipeFlags, sendRecipe } from '../../input/read-recipe.ts';
import { type Review, type Reviewed, reviewMarkdown, type Scan } from '../../output/review-markdown.ts';
import { startAndFollow } from '../../run/run-command.ts';
import { type CommandSpec, isSet, text } from '../../spec/command.ts';
import { buildFlags } from './build.ts';

type Version = ResponseOf<'showVersion'>;
type Evidence = ResponseOf<'listEvidence'>['items'];

export const command: CommandSpec = {
  details:
    'Builds the recipe; the same lock is built once. Boot time, scans, and the gates that depend on them are from the evidence of that version: run `imago test` and `imago image attest` first. A matrix has one section for each version.',
  args: recipeArguments,
  flags: {
    ...recipeFlags,
    locked: buildFlags.locked,
    against: {
      description: 'Channel to compare with (default: production)',
      value: 'CHANNEL',
      completes: 'channel',
      field: false,
    },
  },
  examples: [
    ['imago recipe review --locked > review.md', 'Write the comment for a pull request'],
    ['imago recipe review --against staging', 'Compare with the version in staging'],
  ],
  async run(invocation) {
    const channel = text(invocation, 'against') ?? 'production';
    const client = await invocation.client();
    const built = await sendRecipe(invocation, (sent) => {
      const body = { ...sent, locked: isSet(invocation, 'locked') };
      return startAndFollow(invocation, 'createBuild', { body });
    });
    const result = Object(built?.result) as BuiltResult;
    const reviews: Review[] = [];
    for (const { image, version } of result.versions ?? [result]) {
      reviews.push(await review(client, image, version, channel));
    }
    const names = reviews.map(({ image, now }) => `${image}:${now.version}`);
    invocation.out.thing({ reviews }, names.join('\n'), () =>
      reviews.flatMap((one, index) => [...(index === 0 ? [] : ['']), ...reviewMarkdown(one)]),
    );
  },
};

interface BuiltVersion {
  readonly image: string;
  readonly version: string;
}
type BuiltResult = BuiltVersion & { readonly versions?: readonly BuiltVersion[] };

async function review(client: Client, image: string, number: string, channel: string): Promise<Review> {
  const reference = `${image}:${number}`;
  const found = await unless(['channel-not-found', 'channel-empty'], () =>
    client.call('resolve', { query: { reference: `${image}:${channel}` } }),
  );
  const [now, before, differences, shown] = await Promise.all([
    reviewed(client, image, number),
    found && reviewed(client, image, found.version),
    found &&
      unless(['store-not-found'], () =>
        client.call('diffVersions', { path: { image, version: found.version }, query: { to: reference } }),
      ),
    unless(['channel-not-found'], () => client.call('showGates', { query: { reference, channel } })),
  ]);
  return { image, channel, now, before, differences: differences?.text, gates: shown?.gates };
}

async function reviewed(client: Client, image: string, number: string): Promise<Reviewed> {
  const path = { image, version: number };
  const version = await client.call('showVersion', { path });
  const { items: evidence } = await client.call('listEvidence', { path });
  const test = newestTest(version.digest, evidence);
  const { measures } = Object(test?.details) as { readonly measures?: { readonly bootToReadyMs?: number } };
  return {
    version: number,
    kubernetes: version.kubernetes,
    usedBytes: await usedBytes(client, version),
    tested: test?.passed,
    bootToReadyMs: measures?.bootToReadyMs,
    scans: newestScans(evidence),
  };
}

/** As the release notes say. A simulated version has none. */
async function usedBytes(client: Client, { image, version }: Version): Promise<number | undefined> {
  return unless(['store-not-found', 'record-not-found'], async () => {
    const path = { image, version, record: 'notes' } as const;
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await client.download('readRecord', { path })).content) chunks.push(chunk);
    const notes = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      readonly sizes?: { readonly usedBytes?: number };
    };
    return notes.sizes?.usedBytes;
  });
}

/** The last report of each scanner. */
function newestScans(evidence: Evidence): readonly Scan[] {
  const scans = evidence
    .filter(({ kind }) => kind === 'scan')
    .toSorted((a, b) => a.id - b.id)
    .map(({ details }) => Object(details) as Scan);
  return [...new Map(scans.map((scan) => [scan.tool, scan])).values()];
}

/** Expected absence is a value. */
async function unless<T>(codes: readonly string[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (codes.includes(ensureImagoError(thrown).code)) return undefined;
    throw thrown;
  }
}
