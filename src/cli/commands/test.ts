// Start a sealed version on fresh machines, and tell what its checks found.
import { readFile, writeFile } from 'node:fs/promises';
import type { Client } from '../../api/client/client.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { CheckResult } from '../../domain/image-test/image-check.ts';
import { junitReport } from '../../domain/image-test/junit.ts';
import { followOperation } from '../run/follow-operation.ts';
import { operationFlags, showPlan } from '../run/run-operation.ts';
import { argument, type CommandSpec, type Invocation, isSet, text, texts } from '../spec/command.ts';

const firmwares = ['uefi', 'bios', 'direct'] as const;

export const command: CommandSpec = {
  summary: 'Boot a sealed version on fresh machines, run its checks, store the evidence',
  details:
    'Two machines run at once and are compared; one is started again; each kind of firmware has a machine. The evidence names the digest, and the version becomes available only if every check passed with every kind of firmware that its recipe declares: UEFI and BIOS by default. A run with fewer kinds is evidence and nothing more.',
  args: [
    {
      name: 'IMAGE',
      what: 'the version: NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST',
      completes: 'image',
    },
  ],
  flags: {
    ...operationFlags,
    firmware: {
      what: 'how the machines start; may be given several times, all of them when left out',
      value: 'KIND',
      choices: firmwares,
      repeated: true,
    },
    'node-config': {
      what: 'what the machines are told to be; it names secrets as `secret:NAME`',
      value: 'FILE',
      completes: 'file',
    },
    'keep-on-failure': { what: 'leave the machines of a failed test running, for a look' },
    junit: { what: 'write the results there too, as JUnit XML', value: 'FILE', completes: 'file' },
  },
  examples: [
    ['imago test node:1.34.2', 'test one version; it becomes available when all checks pass'],
    ['imago test node:1.34.2 --firmware uefi --junit results.xml', 'one kind of firmware, results for CI'],
    ['imago test node:1.34.2 --keep-on-failure', 'look at the machines when it fails'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const input = { body: await requestOf(invocation) };
    if (isSet(invocation, 'dry-run')) return showPlan(invocation, client, { endpoint: 'createTest', input });
    const busy = isSet(invocation, 'refuse-if-busy') ? { whenBusy: 'refuse' as const } : {};
    const started = await client.call('createTest', { ...input, ...busy });
    if (isSet(invocation, 'no-wait')) {
      invocation.out.thing(started, started.id, () => [
        `Started test ${started.id}. Watch it with \`imago op watch ${started.id}\`.`,
      ]);
      return;
    }
    await tellEnd(invocation, client, started.id);
  },
};

async function requestOf(invocation: Invocation) {
  const chosen = texts(invocation, 'firmware') as readonly (typeof firmwares)[number][];
  const file = text(invocation, 'node-config');
  return {
    reference: argument(invocation, 'IMAGE'),
    ...(chosen.length === 0 ? {} : { firmware: [...chosen] }),
    ...(file === undefined ? {} : { nodeConfig: await readConfig(file) }),
    ...(isSet(invocation, 'keep-on-failure') ? { keepOnFailure: true } : {}),
  };
}

async function readConfig(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ImagoError('input-invalid', `The node config ${file} cannot be read.`, { cause });
  }
}

/** The results are written and shown also when the test failed: that is when they are wanted. */
async function tellEnd(invocation: Invocation, client: Client, id: string): Promise<void> {
  try {
    const ended = await followOperation(invocation, client, id);
    const result = (ended.result ?? {}) as Record<string, unknown>;
    const version = `${result.image}:${result.version}`;
    invocation.out.thing({ ...result, operation: id }, version, () => [
      ...tell(result.checks as readonly CheckResult[]),
      `${version} is available`,
    ]);
  } catch (thrown) {
    if (!invocation.signal.aborted)
      for (const line of tell(await resultsOf(client, id))) invocation.out.note(line);
    throw thrown;
  } finally {
    const file = text(invocation, 'junit');
    if (file !== undefined && !invocation.signal.aborted) {
      await writeFile(file, junitReport(argument(invocation, 'IMAGE'), await resultsOf(client, id)));
    }
  }
}

/** From the records of its steps: a test that failed has no result. */
async function resultsOf(client: Client, id: string): Promise<readonly CheckResult[]> {
  const { steps } = await client.call('showOperation', { path: { operation: id } });
  return steps.flatMap(({ name, result }) => {
    if (!['disk', 'check', 'restart'].includes(name)) return [];
    return (result as { results?: readonly CheckResult[] } | undefined)?.results ?? [];
  });
}

/** Failures one by one; what passed by number and place, for there are hundreds. */
function tell(results: readonly CheckResult[]): readonly string[] {
  const places = [...new Set(results.map(({ on }) => on))];
  const counted = places.map((place) => {
    const here = results.filter(({ on }) => on === place);
    const passed = here.filter(({ state }) => state === 'passed').length;
    const left = here.filter(({ state }) => state === 'not-run').length;
    const isGood = passed + left === here.length;
    return `${isGood ? '✓' : '✗'} ${place}: ${passed} of ${here.length - left} checks passed${left === 0 ? '' : `, ${left} not run`}`;
  });
  const failed = results.flatMap(({ state, on, title, detail, remedy }) =>
    state === 'failed'
      ? [`✗ not so on ${on}: ${title}`, `    ${detail}`, ...(remedy ? [`    ${remedy}`] : [])]
      : [],
  );
  return [...counted, ...failed];
}
