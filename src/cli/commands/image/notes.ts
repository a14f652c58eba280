// Release notes of a version.

import { imageArgument } from '../../input/find-version.ts';
import { fileFlag, printRecord } from '../../run/print-record.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the release notes of a version',
  details: 'Made from the sealed disk: what is on it, and what changed since the version before.',
  args: [imageArgument],
  flags: fileFlag,
  examples: [
    ['imago image notes node:staging', 'as Markdown'],
    ['imago image notes node:staging --json', 'for a script'],
  ],
  run: (invocation) => printRecord(invocation, invocation.out.format === 'json' ? 'notes' : 'notes-markdown'),
};
