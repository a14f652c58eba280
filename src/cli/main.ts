// The command line: finds the command, parses its words, runs it, and turns errors into a message, a hint, and the
// right exit code.
import type { Client } from '../api/client/client.ts';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { parseDuration } from '../domain/value/duration.ts';
import { nearest } from '../domain/value/suggest.ts';
import { selectContext } from '../launcher/contexts.ts';
import { commandTree } from './command-tree.ts';
import { createOutput, type Format, type Output, type Streams, type Stringify } from './output/output.ts';
import { watchOutput } from './output/watch-output.ts';
import {
  type Command,
  type CommandGroup,
  type CommandSpec,
  type Invocation,
  isGroup,
  loadCommand,
} from './spec/command.ts';
import { parseWords } from './spec/parse.ts';

interface Found {
  readonly path: string;
  readonly command: Command;
  readonly words: readonly string[];
}

const streams: Streams = { out: process.stdout, err: process.stderr, env: process.env };
const output = watchOutput([process.stdout, process.stderr], (error) => {
  createOutput('table', false, streams).error(error);
  process.exitCode = error.exitCode;
});

async function main(words: readonly string[]): Promise<number> {
  const early = await outputFor(earlyFormat(words), false);
  try {
    return await runWords(words);
  } catch (thrown) {
    const error = ensureImagoError(output.explain(thrown));
    early.error(error);
    if (error.kind === 'bug' && process.env.IMAGO_DEBUG) process.stderr.write(`${(thrown as Error).stack}\n`);
    return error.exitCode;
  }
}

async function runWords(words: readonly string[]): Promise<number> {
  if (words[0] === '--version' || words[0] === '-V') return runWords(['version', ...words.slice(1)]);
  if (words[0] === '__complete') return complete(words.slice(2));
  if (words[0] === 'help') {
    const found = await findCommand(words.slice(1));
    if (found.words.length > 0) throw unknownCommand(found.path, found.words[0] ?? '', []);
    await printHelp(found.path, found.command);
    return 0;
  }
  const { path, command, words: rest } = await findCommand(words);
  if (isGroup(command)) {
    await printHelp(path, command);
    return rest.length === 0 || rest[0] === '--help' || rest[0] === '-h' ? 0 : 2;
  }
  const parsed = parseWords(command, path, rest);
  if (parsed.flags.help === true) {
    await printHelp(path, command);
    return 0;
  }
  const format =
    parsed.flags.json === true ? 'json' : ((parsed.flags.output as Format | undefined) ?? 'table');
  selectContext(parsed.flags.context as string | undefined);
  return invoke(command, parsed, await outputFor(format, parsed.flags.quiet === true));
}

async function outputFor(format: Format, quiet: boolean): Promise<Output> {
  const toYaml: Stringify | undefined = format === 'yaml' ? (await import('yaml')).stringify : undefined;
  return createOutput(format, quiet, streams, toYaml);
}

async function printHelp(path: string, command: Command): Promise<void> {
  const { helpOf } = await import('./spec/help.ts');
  process.stdout.write(`${helpOf(path, command)}\n`);
}

async function invoke(
  command: CommandSpec,
  parsed: Pick<Invocation, 'args' | 'flags' | 'rest'>,
  out: Output,
): Promise<number> {
  const abort = new AbortController();
  const interrupt = () => abort.abort(new ImagoError('cancelled', 'Interrupted.'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  let connected: Promise<Client> | undefined;
  const client = () => {
    connected ??= import('./run/connect.ts').then(({ connect }) => connect(out));
    return connected;
  };
  const timeout = timeoutOf(parsed.flags.timeout);
  try {
    const signal = AbortSignal.any([abort.signal, output.signal, timeout.signal]);
    await Promise.race([command.run({ ...parsed, client, out, signal }), timeout.expired]);
    return 0;
  } finally {
    timeout.clear();
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    if (connected !== undefined) (await connected.catch(() => undefined))?.close();
  }
}

/** Ends the command after the time of --timeout, including requests that do not respond to its signal. */
function timeoutOf(text: Invocation['flags'][string]) {
  const ending = new AbortController();
  if (typeof text !== 'string') {
    return { signal: ending.signal, expired: new Promise<never>(() => undefined), clear: () => undefined };
  }
  const ms = parseDuration(text);
  const error = new ImagoError('command-timeout', `The command did not finish within ${text}.`, {
    hint: 'An operation that was started continues. List operations with `imago op list`.',
  });
  const expired = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => {
      ending.abort(error);
      // The command itself can report what it was waiting for.
      setImmediate(() => expired.reject(error));
    },
    Math.min(ms, 2 ** 31 - 1),
  );
  return { signal: ending.signal, expired: expired.promise, clear: () => clearTimeout(timer) };
}

/** Walks down the tree as far as the words lead. */
async function findCommand(words: readonly string[]): Promise<Found> {
  let command: Command = commandTree;
  let path = '';
  for (const [index, word] of words.entries()) {
    if (!isGroup(command) || word.startsWith('-')) return { path, command, words: words.slice(index) };
    const { commands }: { readonly commands: CommandGroup['commands'] } = command;
    const next = Object.hasOwn(commands, word) ? commands[word] : undefined;
    if (next === undefined) throw unknownCommand(path, word, Object.keys(commands));
    command = await loadCommand(next);
    path = path === '' ? word : `${path} ${word}`;
  }
  return { path, command, words: [] };
}

function unknownCommand(path: string, word: string, known: readonly string[]): ImagoError {
  const [close] = nearest(word, known);
  const full = path === '' ? '' : `${path} `;
  return new ImagoError('usage-unknown-command', `Unknown command: imago ${full}${word}.`, {
    hint: close === undefined ? `Run \`imago ${full}--help\`.` : `Did you mean \`imago ${full}${close}\`?`,
  });
}

/** Prints the completions, one per line. Never fails, never starts a daemon. */
async function complete(words: readonly string[]): Promise<number> {
  const { completeWords } = await import('./completion/complete-words.ts');
  const asked = words[0] === 'help' ? words.slice(1) : words;
  const candidates = await completeWords(commandTree, asked).catch(() => []);
  if (candidates.length > 0) process.stdout.write(`${candidates.join('\n')}\n`);
  return 0;
}

/** Returns the format of errors that occur before the flags are parsed. */
function earlyFormat(words: readonly string[]): Format {
  const output = words.indexOf('--output');
  const short = words.indexOf('-o');
  const is = (format: Format) =>
    words.includes(`--output=${format}`) ||
    (output >= 0 && words[output + 1] === format) ||
    (short >= 0 && words[short + 1] === format);
  if (words.includes('--json') || is('json')) return 'json';
  return is('yaml') ? 'yaml' : 'table';
}

const exitCode = await main(process.argv.slice(2));
process.exitCode ??= exitCode;
