// The verbs that need nothing of the rest: reading all of the agent for them would take longer than they do, and one of
// them starts at every boot.
import type { NodeReport } from '../domain/node/report.ts';
import { openLinePort } from './quickjs/line-port.ts';
import type { Verb, VerbContext } from './subcommand.ts';
import { answerCommand } from './system/commands.ts';
import { statusPath } from './system/paths.ts';
import { portDevice } from './system/port-device.ts';

const commandPort = 'org.imago.commands.0';

export const verbs: Readonly<Record<string, Verb>> = { status, commands };

async function status({ system, print }: VerbContext): Promise<number> {
  const text = system.readText(statusPath);
  if (text === undefined) {
    print('the agent has not reported in this boot');
    return 1;
  }
  print(text.trimEnd());
  return (JSON.parse(text) as NodeReport).phase === 'ready' ? 0 : 1;
}

async function commands({ modules, system, print }: VerbContext): Promise<number> {
  const { promise: never } = Promise.withResolvers<number>();
  const device = modules.std.getenv('IMAGO_COMMAND_PORT') ?? portDevice(system, commandPort);
  let last = Promise.resolve();
  const port =
    device &&
    openLinePort(modules, device, (line) => {
      last = last.then(
        async () => {
          const answer = await answerCommand(system, line);
          if (answer !== undefined && port) await port.sendAll(JSON.stringify(answer));
        },
        () => undefined,
      );
    });
  if (port) return never;
  print('this machine has no port for commands');
  return 1;
}
