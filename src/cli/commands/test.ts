// Boot a sealed version on fresh machines.
import { argument, type CommandSpec } from '../command.ts';
import { operationFlags, runOperation } from '../run-operation.ts';

interface Check {
  readonly name: string;
  readonly passed: boolean;
}

export const command: CommandSpec = {
  summary: 'Boot a sealed version on fresh machines, run its checks, store the evidence',
  args: [
    {
      name: 'IMAGE',
      what: 'the version: NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
      completes: 'image',
    },
  ],
  flags: operationFlags,
  examples: [['imago test node:1.34.2', 'test one version; it becomes available when all checks pass']],
  async run(invocation) {
    await runOperation(invocation, {
      endpoint: 'createTest',
      input: { body: { reference: argument(invocation, 'IMAGE') } },
      name: (result) => `${result.image}:${result.version}`,
      lines: (result) => [
        ...(result.checks as readonly Check[]).map((check) => `${check.passed ? '✓' : '✗'} ${check.name}`),
        `${result.image}:${result.version} is available`,
      ],
    });
  },
};
