// Verifies the signed attestation of a channel move without a server.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { GateResult } from '../../../domain/channel/decision.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { describeGate } from '../../../domain/gate/describe.ts';
import type { SignedMove } from '../../attestation/signed-move.ts';
import { readText } from '../../input/read-text.ts';
import { argument, type CommandSpec, type Invocation, text, texts } from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

export const command: CommandSpec = {
  details:
    'FILE is the output of `imago channel attestation`, or the directory of an OCI layout that contains the version. The attestation describes the time of the move: the channel can have moved since.',
  args: [{ name: 'FILE', description: 'Attestation, or the directory of an OCI layout', completes: 'file' }],
  flags: {
    key: {
      description: 'Public key, from `imago keys show`',
      value: 'FILE',
      repeated: true,
      completes: 'file',
    },
    digest: { description: 'Fail unless this version was moved', value: 'DIGEST' },
    channel: { description: 'Fail unless it was moved to this channel', value: 'NAME:CHANNEL' },
  },
  examples: [
    [
      'imago channel verify move.json --key imago.pub --channel node:production',
      'Verify that a release was promoted to production, and by whom',
    ],
  ],
  async run(invocation) {
    const files = texts(invocation, 'key');
    if (files.length === 0) throw usage('--key is missing.', 'channel verify');
    const { readPublicKey } = await import('../../attestation/signed-move.ts');
    const keys = await Promise.all(files.map(async (file) => readPublicKey(await readText(file), file)));
    const moves = await signedMoves(argument(invocation, 'FILE'), keys);
    const asked = moves.filter((move) => isRequested(invocation, move));
    if (asked.length === 0) throw mismatch(invocation, moves);
    invocation.out.thing({ items: asked, next: null }, asked.map(({ move }) => move).join('\n'), () =>
      asked.flatMap(describe),
    );
  },
};

/** Returns the moves that the keys signed; never empty. */
async function signedMoves(
  path: string,
  keys: Parameters<typeof import('../../attestation/signed-move.ts').openSignedMove>[2],
): Promise<readonly SignedMove[]> {
  const { openSignedMove } = await import('../../attestation/signed-move.ts');
  const isLayout = await stat(join(path, 'index.json')).then(
    () => true,
    () => false,
  );
  if (!isLayout) {
    const move = openSignedMove(await readText(path), path, keys);
    if (move !== undefined) return [move];
    throw new ImagoError(
      'attestation-missing',
      `${path} is signed, but is not the attestation of a channel move.`,
    );
  }
  const { readLayoutStatements } = await import('../../attestation/layout-statements.ts');
  const found: SignedMove[] = [];
  let others = 0;
  for (const { digest, envelope } of await readLayoutStatements(path)) {
    try {
      const move = openSignedMove(envelope, digest, keys);
      if (move !== undefined) found.push(move);
    } catch (thrown) {
      if (!(thrown instanceof ImagoError && thrown.code === 'signature-missing')) throw thrown;
      others += 1;
    }
  }
  if (found.length > 0) return onlyOnce(found).sort((a, b) => b.move - a.move);
  throw others > 0
    ? new ImagoError('signature-missing', `No move in ${path} is signed by the given key.`)
    : new ImagoError('attestation-missing', `${path} contains no attestation of a channel move.`);
}

/** A move that was signed again is present once for each key. */
function onlyOnce(moves: readonly SignedMove[]): SignedMove[] {
  return [...new Map(moves.map((move) => [JSON.stringify(move), move])).values()];
}

function isRequested(invocation: Invocation, { image, channel, digest }: SignedMove): boolean {
  const wantedDigest = text(invocation, 'digest');
  const wantedChannel = text(invocation, 'channel');
  return (
    (wantedDigest === undefined || wantedDigest === digest) &&
    (wantedChannel === undefined || wantedChannel === `${image}:${channel}`)
  );
}

function mismatch(invocation: Invocation, moves: readonly SignedMove[]): ImagoError {
  const asked = [text(invocation, 'digest'), text(invocation, 'channel')].filter((one) => one !== undefined);
  const found = moves.map(({ image, channel, to, digest }) => `${image}:${channel} to ${to} (${digest})`);
  return new ImagoError(
    'attestation-elsewhere',
    `The attestation is not about ${asked.join(' in ')}, but about ${found.join(', ')}.`,
  );
}

function describe(move: SignedMove): readonly string[] {
  const { policy } = move;
  return [
    `${move.image}:${move.channel} was moved from ${move.from ?? 'nothing'} to ${move.to} (move ${move.move})`,
    `  digest ${move.digest}`,
    `  by ${move.by} at ${move.at}: ${move.why}`,
    ...(policy?.gates ?? []).map((gate) => `  ${describeGate(gate as GateResult)}`),
    ...(policy?.override === undefined
      ? []
      : [`  overridden by ${policy.override.by}: ${policy.override.reason}`]),
    ...(move.composed === null ? [] : [`  tested together as ${move.composed.id}`]),
  ];
}
