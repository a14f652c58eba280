// The software bill of materials of a version.

import { imageArgument } from '../../input/find-version.ts';
import { fileFlag, printRecord, type RecordKind } from '../../run/print-record.ts';
import { type CommandSpec, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the software bill of materials of a version',
  details: 'Packages, files and container images, read from the sealed disk. Always JSON.',
  args: [imageArgument],
  flags: {
    format: { what: 'in which form (default: cyclonedx)', value: 'FORM', choices: ['cyclonedx', 'spdx'] },
    ...fileFlag,
  },
  examples: [['imago image sbom node:production --format spdx --file node.spdx.json', 'for an auditor']],
  run: (invocation) => printRecord(invocation, (text(invocation, 'format') ?? 'cyclonedx') as RecordKind),
};
