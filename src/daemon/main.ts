// The daemon's program. `imago` starts it apart from itself; service managers run it in the foreground.
//   --listen HOST:PORT  --tls-certificate FILE  --tls-key FILE  --time-scale N  --provider NAME
//   --down    stop the daemon of the state folder, its database and its machines, also when it hangs;
//             --leave-machines: not the machines
//   --doctor  look at this machine, without a daemon
import { parseArgs } from 'node:util';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { currentSurroundings } from '../launcher/paths.ts';
import { type DaemonOptions, readOptions } from './options.ts';
import { openMessages } from './process/messages.ts';

process.umask(0o077);
const messages = openMessages(process.env);
try {
  await run();
} catch (thrown) {
  const error = ensureImagoError(thrown);
  messages.send({ error: error.toRecord() });
  messages.end();
  process.stderr.write(`error: ${error.message}\n${error.hint === undefined ? '' : `hint: ${error.hint}\n`}`);
  if (error.kind === 'bug') process.stderr.write(`${error.stack}\n`);
  process.exit(error.exitCode);
}

async function run(): Promise<void> {
  const { down, leaveMachines, doctor, ...options } = parse(process.argv.slice(2));
  const surroundings = currentSurroundings();
  if (down) {
    const { bringDown } = await import('./down.ts');
    messages.send({ stopped: await bringDown(surroundings, { leaveMachines }) });
    return;
  }
  if (doctor) {
    const { runDoctor, usualChecks } = await import('./doctor/doctor.ts');
    messages.send({ doctor: await runDoctor(usualChecks(surroundings)) });
    return;
  }
  const { runDaemon } = await import('./daemon.ts');
  await runDaemon({ surroundings, options, messages });
}

function parse(
  words: readonly string[],
): DaemonOptions & { readonly down: boolean; readonly leaveMachines: boolean; readonly doctor: boolean } {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        listen: { type: 'string' },
        'tls-certificate': { type: 'string' },
        'tls-key': { type: 'string' },
        'time-scale': { type: 'string' },
        provider: { type: 'string' },
        down: { type: 'boolean', default: false },
        'leave-machines': { type: 'boolean', default: false },
        doctor: { type: 'boolean', default: false },
      },
    });
    return {
      ...readOptions(values, process.env),
      down: values.down,
      leaveMachines: values['leave-machines'],
      doctor: values.doctor,
    };
  } catch (error) {
    if (error instanceof ImagoError) throw error;
    throw new ImagoError('usage-invalid', (error as Error).message, { cause: error });
  }
}
