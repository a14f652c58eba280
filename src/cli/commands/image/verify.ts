// Read a version again, and mend it.
import { formatBytes } from '../../../domain/value/bytes.ts';
import { imageArgument } from '../../input/find-version.ts';
import { describeSignatures, type Signature } from '../../output/signatures.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Read every byte of a version again, and mend what is damaged',
  details:
    'Damage is named by blob, chunk and place on the disk. It is mended from a registry that has a copy, or by ' +
    'building the disk once more from its lock. The lock and the inputs that are kept for that are read too: inputs ' +
    'are mended from the build cache or their source. Nothing is taken that does not have the right digest.',
  args: [imageArgument],
  flags: {
    'no-heal': { what: 'only look' },
    registry: { what: 'a registry that has a copy', value: 'HOST/REPOSITORY' },
    'require-signature': { what: 'fail when no trusted key signed it' },
    ...operationFlags,
  },
  examples: [['imago image verify node:production --require-signature', 'is it whole, and is it ours?']],
  async run(invocation) {
    const registry = text(invocation, 'registry');
    const body = {
      reference: argument(invocation, 'IMAGE'),
      heal: !isSet(invocation, 'no-heal'),
      requireSignature: isSet(invocation, 'require-signature'),
      ...(registry && { registry }),
    };
    await runOperation(invocation, {
      endpoint: 'verifyImage',
      input: { body },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        ...(result.healed as readonly string[]).map((line) => `mended ${line}`),
        `${result.image}:${result.version} is whole: ${formatBytes(Number(result.bytesRead))} read`,
        ...describeSignatures([
          ...(result.signatures as readonly Signature[]),
          ...(result.ignored as readonly Signature[]),
        ]),
      ],
    });
  },
};
