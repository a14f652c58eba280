// The subcommands that need the entire agent, loaded when there is something to do.
import { highestCost, planChanges } from '../domain/node-config/plan-changes.ts';
import { createAgent, readWanted } from './agent.ts';
import { planFetcher, planOutside } from './apply/fetch.ts';
import { render } from './apply/render.ts';
import { runningProblems } from './apply/verify.ts';
import { readGood, withoutSecrets } from './desired/state.ts';
import { answerCommand, type Verb, type VerbContext } from './light-subcommands.ts';
import { createLoop, type Loop } from './loop.ts';
import { createMetadataService } from './metadata/metadata.ts';
import { type ConsolePort, openConsolePort } from './quickjs/console-port.ts';
import { type LinePort, openLinePort, portDevice } from './quickjs/line-port.ts';
import type { QuickJsModules } from './quickjs/modules.ts';
import { createReporter, nodeError } from './report/reporter.ts';
import { readSettings } from './settings.ts';
import { commandPath, lockPath, runFolder } from './system/paths.ts';
import { replaceRunFile, type System } from './system/system.ts';

const reportPort = 'org.imago.report.0';
const looksBeforeConsole = 15;

export const verbs: Readonly<Record<string, Verb>> = { run, apply, plan, verify };

async function run({ modules, system, version }: VerbContext): Promise<number> {
  const settings = readSettings(system, modules.std.getenv);
  let loop: Loop | undefined;
  const serial = openConsolePort(modules, modules.std.getenv('IMAGO_CONSOLE') ?? '/dev/ttyS0');
  const send = openReportPort(modules, system, serial, (line) => loop?.hear(line));
  const reporter = createReporter(system, version, send);
  const answer = answerOnce(system, serial);
  const agent = createAgent(system, settings, reporter, answer);
  loop = createLoop(system, settings, agent, reporter);
  return loop.run();
}

/**
 * The driver of the port can start later than the agent: then the last report is sent when the port exists. A machine
 * without one, as in a cloud, reports on its serial console.
 */
function openReportPort(
  { os, std, words }: QuickJsModules,
  system: System,
  serial: ConsolePort,
  hear: (line: string) => void,
) {
  const path = std.getenv('IMAGO_REPORT_PORT');
  let port: LinePort | undefined;
  let latest: string | undefined;
  let looks = 0;
  function look(): void {
    const found = path ?? portDevice(system, reportPort);
    if (found !== undefined) port = openLinePort({ os, std, words }, found, hear);
    looks += 1;
    if (port === undefined) os.setTimeout(look, looks < 600 ? 200 : 30_000);
    if (latest !== undefined && (port !== undefined || looks === looksBeforeConsole)) send(latest);
  }
  function send(line: string): void {
    latest = line;
    if (port !== undefined) port.send(line);
    else if (looks >= looksBeforeConsole) serial.report(line);
  }
  look();
  return send;
}

/** Runs a script of the userData once in a boot, even if the agent is restarted, and writes its answer to the console. */
function answerOnce(system: System, serial: ConsolePort) {
  return (command: { readonly id: string }): void => {
    if (system.readText(commandPath) === command.id) return;
    replaceRunFile(system, commandPath, command.id, 0o600);
    answerCommand(system, JSON.stringify(command)).then(
      (said) => serial.answer(JSON.stringify(said)),
      (thrown: unknown) => system.log(nodeError(thrown).message),
    );
  };
}

/** Applies once, in the foreground. The service detects the changes on its own. */
async function apply({ modules, system, version, print }: VerbContext): Promise<number> {
  const settings = readSettings(system, modules.std.getenv);
  const reporter = createReporter(system, version, () => undefined);
  const agent = createAgent(system, settings, reporter);
  try {
    await agent.start();
    await agent.look();
  } catch (thrown) {
    reporter.update({ phase: 'failed', error: nodeError(thrown) });
  }
  const { phase, error, waiting } = reporter.current();
  print(error === undefined ? phase : `${phase}: ${error.message}`);
  if (waiting !== undefined) print(`waiting: the config needs ${waiting.for}`);
  return phase === 'ready' && error === undefined ? 0 : 1;
}

async function plan({ modules, system, version, print }: VerbContext): Promise<number> {
  const settings = readSettings(system, modules.std.getenv);
  const reporter = createReporter(quiet(system), version, () => undefined);
  try {
    const metadata = createMetadataService(system, settings.metadataUrl);
    const instance = await metadata.instance(20_000);
    const { config } = await readWanted(system, await metadata.userData(20_000), reporter);
    const changes = planChanges(readGood(system)?.config, withoutSecrets(config));
    for (const { sentence, cost } of changes) print(`${cost.padEnd(8)} ${sentence}`);
    const rendered = await render(system, {
      config,
      name: config.node?.name ?? instance.name,
      fetcher: planFetcher,
      outside: planOutside,
      within: (_, work) => work(),
    });
    for (const { path, wanted } of rendered.changes) {
      print(`${wanted.kind === 'absent' ? 'remove' : 'write'}  ${path}`);
    }
    const nothing = changes.length === 0 && rendered.changes.length === 0;
    print(nothing ? 'nothing to do' : `cost: ${highestCost(changes)}`);
    return 0;
  } catch (thrown) {
    print(nodeError(thrown).message);
    return 1;
  }
}

/** A plan writes nothing. */
function quiet(system: System): System {
  return {
    ...system,
    writeFile: () => undefined,
    rename: () => undefined,
    remove: () => undefined,
    makeFolder: () => undefined,
  };
}

/** Waits for an apply in progress: during one the node matches no config. */
async function verify(context: VerbContext): Promise<number> {
  context.system.makeFolder(runFolder);
  const release = await context.system.lock(lockPath, 600_000);
  if (release === undefined) {
    context.print('another run of the agent does not finish');
    return 1;
  }
  try {
    return await verifyNow(context);
  } finally {
    release();
  }
}

async function verifyNow({ system, print }: VerbContext): Promise<number> {
  const good = readGood(system);
  if (good === undefined) {
    print('no config was applied yet');
    return 1;
  }
  const rendered = await render(system, {
    config: good.config,
    name: good.config.node?.name ?? system.readText('/etc/hostname')?.trim() ?? 'localhost',
    fetcher: planFetcher,
    outside: planOutside,
    within: (_, work) => work(),
  });
  const problems = [
    ...rendered.changes.map(({ path }) => `${path} does not match the config`),
    ...(await runningProblems(system, good.running)),
  ];
  for (const problem of problems) print(problem);
  if (problems.length === 0) print('verified');
  return problems.length === 0 ? 0 : 1;
}
