// Resolves the target of a destructive command once, so that what is confirmed is what is done, and a repeat of the
// command does not reach the next version of a channel.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { requireExact } from '../../domain/resolve/resolve.ts';
import { type Fields, type Invocation, isSet, text } from '../spec/command.ts';

/**
 * Returns the exact version that `IMAGE` names. A version in `--expect` that is already withdrawn is the target too:
 * the command was repeated. Throws `reference-inexact`, `expectation-failed`, or `confirmation-needed` if `--yes` is
 * given with a channel and without `--expect`.
 */
export async function withdrawalTarget(written: string, invocation: Invocation): Promise<Fields> {
  const client = await invocation.client();
  const reference = requireExact(written);
  const expect = text(invocation, 'expect');
  const { image } = reference;
  if (expect !== undefined && reference.kind === 'channel') {
    const expected = await client.call('showVersion', { path: { image, version: expect } });
    if (expected.state === 'withdrawn') return { image, version: expect };
  }
  const version =
    reference.kind === 'version'
      ? reference.version
      : (await client.call('resolve', { query: { reference: written } })).version;
  if (expect !== undefined && expect !== version) {
    throw new ImagoError('expectation-failed', `${written} is ${version} now, not ${expect}.`);
  }
  if (expect === undefined && reference.kind === 'channel' && isSet(invocation, 'yes')) {
    requireExpect(invocation, written, version);
  }
  return { image, version };
}

/** Refuses `--yes` for a channel whose version no one has seen; a dry run is allowed to show it. */
export function requireExpect(invocation: Invocation, channel: string, version: string): void {
  if (isSet(invocation, 'dry-run')) return;
  throw new ImagoError(
    'confirmation-needed',
    `${channel} is ${version} now, and --yes does not confirm which version is meant.`,
    { hint: `Pass --expect ${version} with --yes.` },
  );
}
