// The command line: finds the command, reads its words, calls it, and turns what goes wrong into one
// sentence, a hint and the right exit code.
import type { Client } from '../api/client/client.ts';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { nearest } from '../domain/value/suggest.ts';
import { commandTree } from './command-tree.ts';
import { createOutput, type Format, type Output, type Streams } from './output/output.ts';
import { watchOutput } from './output/watch-output.ts';
import type { CommandNode, CommandSpec, Invocation } from './spec/command.ts';
import { parseWords } from './spec/parse.ts';

interface Found {
  readonly path: string;
  readonly node: CommandNode;
  readonly words: readonly string[];
}

const streams: Streams = { out: process.stdout, err: process.stderr, env: process.env };
const output = watchOutput([process.stdout, process.stderr], (error) => {
  createOutput('table', false, streams).error(error);
  process.exitCode = error.exitCode;
});

async function main(words: readonly string[]): Promise<number> {
  const early = createOutput(earlyFormat(words), false, streams);
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
  const found = findCommand(commandTree, words);
  if (found.node.load === undefined) {
    const { groupHelp } = await import('./spec/help.ts');
    process.stdout.write(`${groupHelp(found.path, found.node)}\n`);
    return found.words.length === 0 || found.words[0] === '--help' || found.words[0] === '-h' ? 0 : 2;
  }
  const { command } = await found.node.load();
  const parsed = parseWords(command, found.path, found.words);
  if (parsed.flags.help === true) {
    const { commandHelp } = await import('./spec/help.ts');
    process.stdout.write(`${commandHelp(found.path, command)}\n`);
    return 0;
  }
  const format =
    parsed.flags.json === true ? 'json' : ((parsed.flags.output as Format | undefined) ?? 'table');
  return invoke(command, parsed, createOutput(format, parsed.flags.quiet === true, streams));
}

async function invoke(
  command: CommandSpec,
  parsed: Pick<Invocation, 'args' | 'flags'>,
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
  try {
    const signal = AbortSignal.any([abort.signal, output.signal]);
    await command.run({ ...parsed, client, out, signal });
    return 0;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    if (connected !== undefined) (await connected.catch(() => undefined))?.close();
  }
}

/** Walks down the tree as far as the words lead. */
function findCommand(tree: CommandNode, words: readonly string[]): Found {
  let node = tree;
  let path = '';
  for (const [index, word] of words.entries()) {
    if (node.children === undefined) return { path, node, words: words.slice(index) };
    if (word.startsWith('-')) return { path, node, words: words.slice(index) };
    const next = node.children.find((child) => child.name === word);
    if (next === undefined) throw unknownCommand(path, word, node.children);
    node = next;
    path = path === '' ? word : `${path} ${word}`;
  }
  return { path, node, words: [] };
}

function unknownCommand(path: string, word: string, children: readonly CommandNode[]): ImagoError {
  const names = children.filter((child) => !child.hidden).map((child) => child.name);
  const [close] = nearest(word, names);
  const full = path === '' ? '' : `${path} `;
  return new ImagoError('usage-unknown-command', `There is no command imago ${full}${word}.`, {
    hint: close === undefined ? `See \`imago ${full}--help\`.` : `Did you mean \`imago ${full}${close}\`?`,
  });
}

/** Words for completion, one a line. Never fails, never starts a daemon. */
async function complete(words: readonly string[]): Promise<number> {
  const { completeWords } = await import('./completion/complete-words.ts');
  const candidates = await completeWords(commandTree, words).catch(() => []);
  if (candidates.length > 0) process.stdout.write(`${candidates.join('\n')}\n`);
  return 0;
}

/** How to print errors that come before the flags are read. */
function earlyFormat(words: readonly string[]): Format {
  const output = words.indexOf('--output');
  const short = words.indexOf('-o');
  const json =
    words.includes('--json') ||
    words.includes('--output=json') ||
    (output >= 0 && words[output + 1] === 'json') ||
    (short >= 0 && words[short + 1] === 'json');
  return json ? 'json' : 'table';
}

const exitCode = await main(process.argv.slice(2));
process.exitCode ??= exitCode;
