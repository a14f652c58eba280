// The daemon process. `imago` starts it in the background; service managers run it in the foreground.
//   --SETTING VALUE   use and store a setting (see `imago config list`)
//   --down            stop the daemon of the state directory, its database, and its machines, even if it hangs
//   --leave-machines  with --down: do not stop the machines
//   --doctor          check this host, without a daemon
import { parseArgs } from 'node:util';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { checkSettings, readSettings, type SettingName, settingNames } from '../domain/settings/settings.ts';
import { currentProcessEnvironment, stateFolder } from '../launcher/paths.ts';
import { openSettings } from '../launcher/settings-file.ts';
import { readOptions } from './options.ts';
import { openMessages } from './process/messages.ts';
import { openServiceManager } from './process/service-manager.ts';

process.umask(0o077);
const messages = openMessages(process.env);
const reportReady = openServiceManager(process.env);
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
  const { down, 'leave-machines': leaveMachines, doctor, ...words } = parse(process.argv.slice(2));
  const processEnv = currentProcessEnvironment();
  if (down) {
    const { bringDown } = await import('./down.ts');
    messages.send({ stopped: await bringDown(processEnv, { leaveMachines }) });
    return;
  }
  if (doctor) {
    const { runDoctor, defaultChecks } = await import('./doctor/doctor.ts');
    messages.send({ doctor: await runDoctor(defaultChecks(processEnv)) });
    return;
  }
  const flags = readSettings(words, (name) => `--${name}`);
  const kept = openSettings(stateFolder(processEnv));
  const options = readOptions(checkSettings({ ...kept.read(), ...flags }), process.env);
  const { runDaemon } = await import('./daemon.ts');
  await runDaemon({
    processEnv,
    options,
    messages,
    reportReady,
    keep: () => kept.change((set) => ({ ...set, ...flags })),
  });
}

function parse(args: readonly string[]) {
  try {
    const settings = settingNames.map((name) => [name, { type: 'string' }] as const);
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...(Object.fromEntries(settings) as Record<SettingName, { readonly type: 'string' }>),
        down: { type: 'boolean', default: false },
        'leave-machines': { type: 'boolean', default: false },
        doctor: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    throw new ImagoError('usage-invalid', (error as Error).message, { cause: error });
  }
}
