// How a version was made, as it was signed.

import { imageArgument } from '../../input/find-version.ts';
import { fileFlag, printRecord } from '../../run/print-record.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the signed provenance of a version',
  details:
    'An in-toto statement (SLSA v1) with every input and its sha256. Only what a trusted key signed is shown.',
  args: [imageArgument],
  flags: fileFlag,
  examples: [['imago image provenance node:production', 'which inputs, by whom, when']],
  run: (invocation) => printRecord(invocation, 'provenance'),
};
