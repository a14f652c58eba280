// The outage, played with the runbook page alone: a broken version in production on 5,000 nodes, approvals required,
// a gallery that does not respond, and a daemon that is killed twice.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { patience } from '../support/speed.ts';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const page = join(root, 'docs/how-to/take-a-broken-version-out.md');

interface Operation {
  readonly id: string;
  readonly state: string;
  readonly error?: { readonly message: string };
}

let imago: Imago;
let good: string;
let bad: string;

async function release(containerd: string, channel: string): Promise<string> {
  await imago.writeFile('imago.yaml', recipe.replace('1.7.24', containerd));
  const { version } = await imago.json<{ version: string }>(['build']);
  await imago.json(['test', `node:${version}`]);
  await promote(version, channel);
  return version;
}

function promote(version: string, channel: string) {
  return imago.json(['channel', 'promote', `node:${version}`, '--to', channel, '--reason', 'weekly']);
}

beforeAll(async () => {
  imago = await createImago();
  good = await release('1.7.24', 'production');
  await imago.json(['image', 'publish', `node:${good}`]);
  await imago.json([
    'gallery',
    'add',
    'public',
    '--provider',
    'sim',
    '--place',
    'public',
    '--channel',
    'production',
  ]);
  bad = await release('1.7.25', 'production');
  await imago.json(['channel', 'create', 'node:production-1-34']);
  await promote(bad, 'production-1-34');
  await imago.json(['pool', 'create', 'web', '--image', 'node:production', '--nodes', '5000']);
  await imago.json(['pool', 'create', 'edge', '--image', 'node:production-1-34', '--nodes', '3']);
  const gates = 'version: 1\nchannels: {production: {approvals: {count: 2, role: publisher}}}\n';
  const policy = await imago.writeFile('policy.yaml', gates);
  await imago.json(['policy', 'set', policy, '--reason', 'two people agree']);
}, patience(900_000));

afterAll(() => imago.end());

/** A shell that stays open between the blocks of the page, as the reader's does. */
function openShell() {
  const child = spawn('sh', ['-eu'], {
    cwd: imago.folder,
    env: {
      ...process.env,
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      ...{ IMAGO_HOME: imago.home, IMAGO_PROVIDER: 'sim', NO_COLOR: '1' },
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  return {
    /** Runs a block and returns what it printed. A command that fails ends the shell, and the test. */
    async run(block: string): Promise<string> {
      const from = printed.length;
      const marker = `done-${from}-${Math.random()}`;
      child.stdin.write(`${block}\necho ${marker}\n`);
      await new Promise<void>((done, fail) => {
        const check = () => printed.includes(marker, from) && done();
        child.stdout.on('data', check);
        child.once('close', () => fail(new Error(`${block}\n${printed.slice(from)}`)));
      });
      return printed.slice(from);
    },
    close: () => child.stdin.end(),
  };
}

async function killDaemon(): Promise<void> {
  const { daemon } = await imago.json<{ daemon: { pid: number } }>(['status']);
  process.kill(daemon.pid, 'SIGKILL');
}

async function newestOperation(): Promise<Operation> {
  const { items } = await imago.json<{ items: Operation[] }>(['op', 'list', '--kind', 'withdraw']);
  if (items[0] === undefined) throw new Error('There is no withdrawal.');
  return items[0];
}

test(
  'the runbook takes the broken version out in ten commands, through a dead gallery and two kills',
  async () => {
    const text = await readFile(page, 'utf8');
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
    expect(blocks.join('').match(/\bimago /g)).toHaveLength(10);
    const [look = '', plan = '', withdraw = '', change = '', show = '', retry = '', report = ''] = blocks;
    const down = ['gallery.*', 'fails', '--gallery', 'public', '--count', '100000'];
    await imago.json(['sim', 'fault', 'add', ...down]);
    const shell = openShell();
    try {
      expect(await shell.run(look)).toContain(bad);
      const planned = await shell.run(plan);
      expect(planned).toContain('Pool edge still starts nodes from a withdrawn version.');
      expect(planned).toContain(`Move node:production from ${bad} back to ${good}.`);
      expect(planned).toContain('Leave node:production-1-34 empty');
      expect(planned).toContain('5003 nodes of 2 pools run it');
      await shell.run(withdraw);
      await killDaemon();
      await shell.run(change);
      const failed = await until('the withdrawal has failed', async () => {
        const operation = await newestOperation();
        return operation.state === 'failed' && operation;
      });
      expect(failed.error?.message).toContain('gallery public does not have');
      expect(await shell.run(show)).toContain('gallery public');
      for (const { id } of (await imago.json<{ items: { id: number }[] }>(['sim', 'fault', 'list'])).items) {
        await imago.json(['sim', 'fault', 'remove', String(id)]);
      }
      const finished = shell.run(retry);
      await killDaemon();
      await finished;
      const printed = await shell.run(report);
      expect(printed).toContain(bad);
      expect(printed).toContain('nodes lose their network');
    } finally {
      shell.close();
    }
    expect(await imago.json(['resolve', 'node:production'])).toMatchObject({ version: good });
    for (const pool of ['web', 'edge']) {
      expect(await imago.json(['pool', 'show', pool])).toMatchObject({ version: good });
    }
    const { state } = await imago.json<{ state: string }>(['image', 'show', `node:${bad}`]);
    expect(state).toBe('withdrawn');
  },
  patience(900_000),
);
