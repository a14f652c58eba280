// Brings the inputs of a lock into the machine of a build, in pieces that can be sent twice, and compares their sha256
// there. They are in one directory, which the cleaning removes, and are installed where the recipe says.
import { inputFolder } from '../../domain/build/guest-job.ts';
import type { BroughtInput } from '../../domain/build/machine-plan.ts';
import { bringToWindows } from '../../domain/build/windows-job.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { LockedInput } from '../../domain/lock/lock.ts';
import type { RecipeComponent } from '../../domain/recipe/recipe.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import type { BuilderTools } from '../../ports/provider/builder.ts';
import type { MachineCommand } from '../../ports/provider/machines.ts';
import { settle } from '../../workflow/poll-until.ts';
import { requireRole } from '../common/deps.ts';
import { type Site, unlessBusy, waiting } from './machine.ts';

/** A command line has at most 128 KiB. */
const pieceBytes = 64 * 1024;
const maxBytes = 256 * 1024 ** 2;
const shellMs = 15 * 60_000;

/** Again, it writes the same bytes to the same places. Simulated machines get none. */
export async function bringInputs(site: Site): Promise<void> {
  const tools = toolsOf(site);
  if (tools === undefined) return;
  for (const brought of site.plan.inputs) await bring(site, tools, brought);
}

/** The text of a step's script. */
export async function textOf(site: Site, script: string | LockedInput): Promise<string> {
  if (typeof script === 'string') return script;
  const tools = toolsOf(site);
  if (tools === undefined) return '';
  const pieces: Uint8Array[] = [];
  const { lock } = site.run.result('lock');
  for await (const piece of tools.readInput(lock, script, site.run.call)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

function toolsOf({ provider }: Site): BuilderTools | undefined {
  return requireRole(provider, 'builder').tools;
}

async function bring(site: Site, tools: BuilderTools, { input, component }: BroughtInput): Promise<void> {
  const { run } = site;
  const { lock } = run.result('lock');
  const label = input.private === true ? 'a private input' : `${input.name} ${input.version}`;
  if (input.sizeBytes > maxBytes) {
    const sizes = `${formatBytes(input.sizeBytes)}, and ${formatBytes(maxBytes)} can be brought in`;
    throw new ImagoError('build-failed', `${label} has ${sizes}.`, {
      hint: 'Have a step download it, and compare its sha256 there.',
    });
  }
  const words = site.isWindows ? bringToWindows : shell;
  await say(site, words.begin(input.sha256));
  let sent = 0;
  for await (const piece of piecesOf(tools.readInput(lock, input, run.call))) {
    run.progress(sent, input.sizeBytes, `bringing in ${label}`);
    await say(site, words.write(input.sha256, sent, piece.toString('base64')));
    sent += piece.length;
  }
  await say(site, words.end(input.sha256, component, input.version));
}

interface Words {
  begin(sha256: string): string;
  write(sha256: string, at: number, base64: string): string;
  end(sha256: string, component: BroughtInput['component'], version: string): string;
}

const shell: Words = {
  begin: (sha256) => `set -e\nmkdir -p -m 0700 ${inputFolder}\n: >>${inputFolder}/${sha256}`,
  write: (sha256, at, base64) =>
    `base64 -d <<'end' | dd of=${inputFolder}/${sha256} bs=64K seek=${at} oflag=seek_bytes conv=notrunc status=none\n${base64}\nend`,
  end: (sha256, component) =>
    `set -e\necho "${sha256}  ${inputFolder}/${sha256}" | sha256sum --check --quiet\n${component ? install(`${inputFolder}/${sha256}`, component) : ''}`,
};

function install(file: string, { name, to = '', mode, from }: RecipeComponent): string {
  const link = `ln -sfn ${file} ${inputFolder}/${name}`;
  const target = quoted(to);
  if (from !== undefined && ('tar' in from || 'folder' in from)) {
    const strip = 'tar' in from ? (from.strip ?? 0) : 0;
    const only = 'tar' in from ? (from.only ?? []).map(quoted).join(' ') : '';
    const unpack = `tar -x -f ${file} -C ${target} --no-same-owner --strip-components=${strip} ${only}`;
    return `${link}\nmkdir -p ${target}\n${unpack}`;
  }
  return `${link}\ninstall -D -m ${mode ?? '0755'} ${file} ${target}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Runs a script that does the same when it runs again. */
async function say(site: Site, script: string): Promise<void> {
  const { run, machines, name } = site;
  const command: MachineCommand = {
    script,
    timeoutMs: 120_000,
    ...(site.isWindows && { shell: 'powershell' }),
  };
  const { exitCode, stderr } = await settle(
    () => unlessBusy(() => machines.runCommand(name, command, run.call)),
    waiting(site, shellMs, `The shell of machine ${name}`),
  );
  if (exitCode === 0) return;
  throw new ImagoError('build-failed', `The inputs could not be brought in: ${stderr.trim().slice(-300)}`, {
    hint: 'Build with --keep-failed to look at the machine; a larger `disk.size` gives it more space.',
  });
}

async function* piecesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    rest = Buffer.concat([rest, chunk]);
    for (; rest.length >= pieceBytes; rest = rest.subarray(pieceBytes)) yield rest.subarray(0, pieceBytes);
  }
  if (rest.length > 0) yield rest;
}
