// The program of `imago image inspect`: reads one disk file and prints what is on it as JSON, or the error. It has no
// state and asks no daemon.
import { parseArgs } from 'node:util';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { inspectDisk } from './inspect-disk.ts';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      files: { type: 'boolean', default: false },
      'allow-unclean': { type: 'boolean', default: false },
    },
  });
  const [file = ''] = positionals;
  const stop = new AbortController();
  const abort = () => stop.abort(new ImagoError('cancelled', 'Interrupted.'));
  process.once('SIGTERM', abort);
  process.once('SIGINT', abort);
  process.once('disconnect', abort);
  const { files, 'allow-unclean': allowUnclean } = values;
  const found = await inspectDisk(file, { files, allowUnclean, signal: stop.signal });
  await print({ found });
}

function print(value: object): Promise<void> {
  return new Promise((resolve) => process.stdout.write(JSON.stringify(value), () => resolve()));
}

main().then(
  () => process.exit(0),
  async (thrown: unknown) => {
    await print({ error: ensureImagoError(thrown).toRecord() });
    process.exit(1);
  },
);
