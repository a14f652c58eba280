// Copy a version to a registry.
import { formatBytes } from '../../../domain/value/bytes.ts';
import { exactArgument } from '../../input/find-version.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Copy a version, with all that is attached, to an OCI registry',
  details:
    'Only what is missing there is sent. Signing in is by what `docker login`, `podman login` or `skopeo login` ' +
    "left for the user that the daemon runs as. The tag is the version's number unless one is given. " +
    'A version with private inputs is refused.',
  args: [exactArgument, { name: 'TO', what: 'HOST/REPOSITORY[:TAG]' }],
  flags: operationFlags,
  examples: [
    ['imago image push node:staging registry.example.com/images/node --dry-run', 'how much would be sent?'],
    ['imago image push node:staging registry.example.com/images/node', 'send what is missing'],
  ],
  async run(invocation) {
    const body = { reference: argument(invocation, 'IMAGE'), to: argument(invocation, 'TO') };
    await runOperation(invocation, {
      endpoint: 'pushImage',
      input: { body },
      name: (result) => String(result.to),
      lines: (result) => [
        `${result.image}:${result.version} is at ${result.to}@${result.digest}`,
        `${formatBytes(Number(result.bytes))} sent`,
      ],
    });
  },
};
