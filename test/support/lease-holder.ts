// A process that holds the lease until it is told or forced to stop, for tests that freeze or kill it.
//   node lease-holder.ts URL
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';

const url = process.argv[2] ?? '';
const lease = await acquireLease({
  connect: () => connectClient(url),
  onWaiting: () => process.stdout.write('waiting\n'),
});
process.stdout.write(`active ${lease.epoch}\n`);
lease.signal.addEventListener('abort', () => process.stdout.write('lost\n'));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
