// Make a candidate from a version in a registry.
import type { InputOf } from '../../../api/contract/types.ts';
import { numberingPolicies } from '../../../domain/image/numbering.ts';
import { architectures } from '../../../domain/image/version.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, isSet, text } from '../../spec/command.ts';

type Body = InputOf<'pullImage'>['body'];

export const command: CommandSpec = {
  summary: 'Make a candidate from a version in an OCI registry',
  details:
    'Only what is missing here is received, and everything is checked against its digest. What was tested elsewhere is ' +
    'tested here again before a channel that is not for testing takes it. It must have a signature for this image by a ' +
    'key that is trusted here.',
  args: [{ name: 'FROM', what: 'HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST' }],
  flags: {
    name: {
      what: 'the image that it becomes a version of (default: its own)',
      value: 'NAME',
      completes: 'image',
    },
    version: { what: 'its number (default: its own)', value: 'N.N.N' },
    architecture: {
      what: 'the processor that a new image is for (default: x64)',
      value: 'ARCH',
      choices: architectures,
    },
    numbering: {
      what: 'how a new image is numbered (default: semver)',
      value: 'POLICY',
      choices: numberingPolicies,
    },
    'allow-unsigned': { what: 'accept it without a valid signature of a trusted key (`imago keys list`)' },
    ...operationFlags,
  },
  examples: [
    ['imago image pull registry.example.com/images/node:1.34.2', 'take over what another place built'],
    [
      'imago image pull registry.example.com/images/node:1.34.2 --allow-unsigned',
      'accept it even though no trusted key signed it',
    ],
  ],
  async run(invocation) {
    const image = text(invocation, 'name');
    const version = text(invocation, 'version');
    const architecture = text(invocation, 'architecture') as Body['architecture'];
    const numbering = text(invocation, 'numbering') as Body['numbering'];
    const body: Body = {
      from: argument(invocation, 'FROM'),
      allowUnsigned: isSet(invocation, 'allow-unsigned'),
      ...(image && { image }),
      ...(version && { version }),
      ...(architecture && { architecture }),
      ...(numbering && { numbering }),
    };
    await runOperation(invocation, {
      endpoint: 'pullImage',
      input: { body },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        `${result.image}:${result.version} ${result.reused ? 'exists already' : 'is a candidate'}`,
        `digest ${result.digest}, ${formatBytes(Number(result.bytes))} received`,
        (result.signedBy as readonly string[]).length === 0
          ? 'No key that is trusted here signed it: see `imago keys trust`.'
          : `Signed by key ${(result.signedBy as readonly string[]).join(', ')}.`,
      ],
    });
  },
};
