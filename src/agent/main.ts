// The agent's entry point. The most frequent call, an apply with nothing to do, loads this small part alone.
import { getMetadata } from './metadata/plain-http.ts';
import { isNothingToDo, type QuickFacts } from './metadata/quick-check.ts';
import { type QuickJsModules, quickJsModules } from './quickjs/modules.ts';
import { quickJsSystem } from './quickjs/quickjs-system.ts';
import { readSettings } from './settings.ts';
import { quickPath } from './system/paths.ts';
import type { System } from './system/system.ts';

declare const agentVersion: string;

const usage = `usage: imago-agent COMMAND
  run       Run the service: apply the node config, report, and check for changes
  apply     Apply the node config once
  plan      Show what an apply would change, and its cost, without changing anything
  status    Print the last report as JSON
  verify    Verify that the node matches its config
  commands  Run the scripts that the machine's host sends to the command port
`;

const light: ReadonlySet<string> = new Set(['status', 'commands']);

async function main(modules: QuickJsModules): Promise<number> {
  const { std, words } = modules;
  const [verb = '', ...others] = words;
  const print = (line: string) => {
    std.out.puts(`${line}\n`);
    std.out.flush();
  };
  if (verb === '--version') {
    print(agentVersion);
    return 0;
  }
  const system = quickJsSystem(modules, std.getenv('IMAGO_AGENT_ROOT') ?? '');
  if (verb === 'apply' && others.length === 0 && (await nothingToDo(modules, system))) {
    print('nothing to do');
    return 0;
  }
  const { verbs } = await (light.has(verb) ? import('./light-subcommands.ts') : import('./subcommands.ts'));
  const found = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (found !== undefined && others.length === 0)
    return found({ modules, system, version: agentVersion, print });
  std.err.puts(usage);
  return verb === '--help' ? 0 : 2;
}

async function nothingToDo({ std }: QuickJsModules, system: System): Promise<boolean> {
  const text = system.readText(quickPath);
  if (text === undefined) return false;
  const { metadataUrl } = readSettings(system, std.getenv);
  return isNothingToDo(system, JSON.parse(text) as QuickFacts, async () => {
    const url = `${metadataUrl}/metadata/instance/compute/userData?api-version=2021-01-01&format=text`;
    const answer = await getMetadata(system, url);
    return answer.kind === 'answer' && answer.status === 200 ? answer.body : undefined;
  });
}

const modules = quickJsModules();
if (modules !== undefined) {
  main(modules).then(
    (code) => modules.std.exit(code),
    (thrown: unknown) => {
      modules.std.err.puts(
        `imago-agent: ${thrown instanceof Error ? `${thrown.message}\n${thrown.stack}` : thrown}\n`,
      );
      modules.std.exit(70);
    },
  );
}
