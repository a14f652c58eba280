// Read a backup into an empty database.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { facts } from '../output/table.ts';
import { argument, type CommandSpec, isSet } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Read a backup into an empty database',
  details: 'All or nothing: a backup that is cut off or damaged changes nothing.',
  args: [{ name: 'FILE', what: 'the backup', completes: 'file' }],
  flags: { 'dry-run': { what: 'read and check the whole backup, and write nothing' } },
  examples: [['imago restore imago.backup --dry-run', 'is it whole?']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const found = await stat(file).catch((cause) => {
      throw new ImagoError('file-missing', `There is no file ${file}.`, { cause });
    });
    if (!found.isFile()) throw new ImagoError('file-missing', `${file} is not a file.`);
    const client = await invocation.client();
    const report = await client.restore(createReadStream(file), {
      dryRun: isSet(invocation, 'dry-run'),
      signal: invocation.signal,
    });
    invocation.out.thing(report, file, () => ('plan' in report ? report.plan : facts({ ...report })));
  },
};
