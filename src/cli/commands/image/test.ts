// Tests a version on fresh machines.
import { writeFile } from 'node:fs/promises';
import type { Client } from '../../../api/client/client.ts';
import type { CheckResult } from '../../../domain/image-test/image-check.ts';
import { junitReport } from '../../../domain/image-test/junit.ts';
import { exactArgument } from '../../input/find-version.ts';
import { readText } from '../../input/read-text.ts';
import { followOperation } from '../../run/follow-operation.ts';
import { proceeds, requestOf, start } from '../../run/run-command.ts';
import type { Request, Result } from '../../spec/call.ts';
import { argument, type CommandSpec, type Invocation, operationFlags, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  details:
    'Two machines run concurrently and are compared, one is restarted, and each kind of firmware has a machine. The evidence names the digest, and the version becomes available only if every check passed with every kind of firmware that its recipe declares: UEFI and BIOS by default. A run with fewer kinds only adds evidence.',
  args: [exactArgument],
  flags: {
    ...operationFlags,
    firmware: {
      description: 'Firmware to test (default: all)',
      value: 'KIND',
      choices: ['uefi', 'bios', 'direct'],
      repeated: true,
    },
    'node-config': {
      description: 'Node config for the test machines; it references secrets as `secret:NAME`',
      value: 'FILE',
      completes: 'file',
      field: false,
    },
    'keep-on-failure': { description: 'Keep the machines of a failed test running for debugging' },
    junit: {
      description: 'Also write the results as JUnit XML',
      value: 'FILE',
      completes: 'file',
      field: false,
    },
  },
  examples: [
    ['imago test node:1.34.2', 'Test a version, which becomes available if all checks pass'],
    ['imago test node:1.34.2 --firmware uefi --junit results.xml', 'Test one kind of firmware in CI'],
    ['imago test node:1.34.2 --keep-on-failure', 'Inspect the machines of a failed test'],
  ],
  async run(invocation) {
    const file = text(invocation, 'node-config');
    const nodeConfig = file === undefined ? undefined : await readText(file);
    const request = await requestOf(invocation, 'createTest', { ...command, more: () => ({ nodeConfig }) });
    if (await proceeds(invocation, 'createTest', request)) await test(invocation, request);
  },
};

/** Prints and writes the results even if the test failed: that is when they are needed. */
async function test(invocation: Invocation, request: Request): Promise<void> {
  const client = await invocation.client();
  const started = await start(invocation, 'createTest', request);
  if (started === undefined) return;
  const { id } = started;
  try {
    const { result = {} } = await followOperation(invocation, client, id, started);
    const { image, version, checks } = result as Result;
    const name = `${image}:${version}`;
    invocation.out.thing({ ...(result as Result), operation: id }, name, () => [
      ...checkLines(checks as readonly CheckResult[]),
      `${name} is available`,
    ]);
  } catch (thrown) {
    if (!invocation.signal.aborted)
      for (const line of checkLines(await resultsOf(client, id))) invocation.out.note(line);
    throw thrown;
  } finally {
    const file = text(invocation, 'junit');
    if (file !== undefined && !invocation.signal.aborted) {
      await writeFile(file, junitReport(argument(invocation, 'IMAGE'), await resultsOf(client, id)));
    }
  }
}

/** Reads the results from the records of the steps: a failed test has no result. */
async function resultsOf(client: Client, id: string): Promise<readonly CheckResult[]> {
  const { steps } = await client.call('showOperation', { path: { operation: id } });
  return steps.flatMap(({ name, result }) => {
    if (!['disk', 'check', 'restart'].includes(name)) return [];
    return (result as { results?: readonly CheckResult[] } | undefined)?.results ?? [];
  });
}

/** Lists failures one by one, and the number of passed checks by machine: there are hundreds. */
function checkLines(results: readonly CheckResult[]): readonly string[] {
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
      ? [`✗ failed on ${on}: ${title}`, `    ${detail}`, ...(remedy ? [`    ${remedy}`] : [])]
      : [],
  );
  return [...counted, ...failed];
}
