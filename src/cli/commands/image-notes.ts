// Release notes of a version.
import type { CommandSpec } from '../command.ts';
import { imageArgument } from '../find-version.ts';
import { fileFlag, printRecord } from '../print-record.ts';

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
