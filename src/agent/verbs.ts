// Everything but the quick check: loaded when there is something to do.
import { highestCost, planChanges } from '../domain/node-config/plan-changes.ts';
import type { NodeReport } from '../domain/node-report.ts';
import { createAgent, readWanted } from './agent.ts';
import { answerCommand } from './commands.ts';
import { planFetcher, planOutside } from './fetch.ts';
import { createLoop, type Loop } from './loop.ts';
import { createMetadataService } from './metadata.ts';
import { lockPath, runFolder, statusPath } from './paths.ts';
import { type LinePort, openLinePort } from './quickjs/line-port.ts';
import type { QuickJsModules } from './quickjs/modules.ts';
import { render } from './render.ts';
import { createReporter, nodeError } from './reporter.ts';
import { readSettings } from './settings.ts';
import { readGood, withoutSecrets } from './state.ts';
import type { System } from './system.ts';
import { runningProblems } from './verify.ts';

export interface VerbContext {
  readonly modules: QuickJsModules;
  readonly system: System;
  readonly version: string;
  readonly print: (line: string) => void;
}

const reportPort = 'org.imago.report.0';
const commandPort = 'org.imago.commands.0';

type Verb = (context: VerbContext) => Promise<number>;

export const verbs: Readonly<Record<string, Verb>> = { run, apply, plan, status, verify, commands };

async function run({ modules, system, version }: VerbContext): Promise<number> {
  const settings = readSettings(system, modules.std.getenv);
  let loop: Loop | undefined;
  const send = openReportPort(modules, system, (line) => loop?.hear(line));
  const reporter = createReporter(system, version, send);
  const agent = createAgent(system, settings, reporter);
  loop = createLoop(system, settings, agent, reporter);
  return loop.run();
}

/** The driver of the port may come later than the agent: the last report is sent when it is there. */
function openReportPort({ os, std, words }: QuickJsModules, system: System, hear: (line: string) => void) {
  const path = std.getenv('IMAGO_REPORT_PORT');
  let port: LinePort | undefined;
  let latest: string | undefined;
  let looks = 0;
  function look(): void {
    const found = path ?? portDevice(system, reportPort);
    if (found !== undefined) port = openLinePort({ os, std, words }, found, hear);
    looks += 1;
    if (port === undefined) os.setTimeout(look, looks < 600 ? 200 : 30_000);
    else if (latest !== undefined) port.send(latest);
  }
  look();
  return (line: string) => {
    latest = line;
    port?.send(line);
  };
}

/** The kernel makes the device before udev names it. */
function portDevice(system: System, name: string): string | undefined {
  const ports = '/sys/class/virtio-ports';
  const found = system.list(ports).find((port) => system.readText(`${ports}/${port}/name`)?.trim() === name);
  return found === undefined ? undefined : `/dev/${found}`;
}

/** Once, in the foreground. The service notices what was done by itself. */
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

async function status({ system, print }: VerbContext): Promise<number> {
  const text = system.readText(statusPath);
  if (text === undefined) {
    print('the agent has not reported in this boot');
    return 1;
  }
  print(text.trimEnd());
  return (JSON.parse(text) as NodeReport).phase === 'ready' ? 0 : 1;
}

/** Waits for an apply that is under way: in the middle of one nothing is as any config says. */
async function verify(context: VerbContext): Promise<number> {
  context.system.makeFolder(runFolder);
  const release = await context.system.lock(lockPath, 600_000);
  if (release === undefined) {
    context.print('another run of the agent does not end');
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
    ...rendered.changes.map(({ path }) => `${path} is not as the config says`),
    ...(await runningProblems(system, good.running)),
  ];
  for (const problem of problems) print(problem);
  if (problems.length === 0) print('verified');
  return problems.length === 0 ? 0 : 1;
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
