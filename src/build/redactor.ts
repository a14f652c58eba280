// Redacts the names, paths, and addresses of private inputs in progress, logs, and errors, which more people can read
// than may know them.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { expandOne, substitute } from '../domain/recipe/variables.ts';
import { privateInputs } from '../inventory/model/redact.ts';
import type { BuildProgress } from '../ports/provider/builder.ts';

export interface Redactor {
  /** The text with an alias in place of each word. Without private inputs it is the text itself. */
  hide(text: string): string;
  /** The same error with its words hidden. How to get into a failed layer stays as it is. */
  hideError(thrown: unknown): unknown;
  /** Says the same with the words hidden. */
  progress(open: BuildProgress): BuildProgress;
}

/** With the inputs of a lock, aliases are those of the release notes; before, all are called `private`. */
export function createRedactor({ recipe, inputs }: Pick<Lock, 'recipe' | 'inputs'>): Redactor {
  const secrets = privateInputs({ recipe, inputs, format: 1, rules: 0, epoch: 0 });
  const aliasOf = (name: string) =>
    inputs.length === 0 ? 'private' : (secrets.find(({ names }) => names.includes(name))?.alias ?? 'private');
  const aliases = new Map<string, string>();
  const note = (name: string, words: readonly string[]) => {
    for (const word of words.filter((one) => one !== '')) aliases.set(word, aliasOf(name));
  };
  for (const { names, places } of secrets) note(names[0] ?? '', [...names, ...places]);
  for (const { name, source, private: secret } of inputs)
    if (secret === true) note(name, addressWords(source));
  const { components, images = [] } = expandOne(recipe);
  for (const component of components.filter((one) => one.private === true)) {
    const texts = [...textsOf(component.from), ...textsOf(component.updates), component.to ?? ''];
    const versions = component.versions ?? [component.version ?? ''];
    const filled = versions.flatMap((version) => texts.map((text) => substitute(text, { version }).text));
    note(component.name, filled.flatMap(addressWords));
  }
  for (const image of images.filter((one) => one.private === true))
    note(image.name, [`oci:${image.name}`, ...textsOf(image.from)].flatMap(addressWords));
  return wordsOf(aliases);
}

function wordsOf(aliases: ReadonlyMap<string, string>): Redactor {
  const words = [...aliases.keys()].sort((a, b) => b.length - a.length).map(escapeRegExp);
  const pattern = words.length === 0 ? undefined : new RegExp(`(?<!\\w)(?:${words.join('|')})(?!\\w)`, 'g');
  const hide = (text: string) =>
    pattern === undefined ? text : text.replace(pattern, (word) => aliases.get(word) ?? 'private');
  return {
    hide,
    hideError: (thrown) => (pattern === undefined ? thrown : hideError(thrown, hide)),
    progress: (open) => ({
      progress: (done, total, sentence) => open.progress(done, total, hide(sentence)),
      log: (line) => open.log(hide(line)),
    }),
  };
}

/** Paths of this machine that a person enters: a word of theirs changed would lead nowhere. */
const ways: ReadonlySet<string> = new Set(['shell', 'clean', 'folder']);

function hideError(thrown: unknown, hide: (text: string) => string): unknown {
  if (!(thrown instanceof ImagoError)) return thrown;
  const { code, message, hint, retryable, httpStatus, details } = thrown;
  const told = Object.entries(details ?? {}).map(([key, value]) => [
    key,
    ways.has(key) || value === undefined ? value : (JSON.parse(hide(JSON.stringify(value))) as unknown),
  ]);
  return new ImagoError(code, hide(message), {
    ...(hint !== undefined && { hint: hide(hint) }),
    ...(details !== undefined && { details: Object.fromEntries(told) as Record<string, unknown> }),
    ...{ retryable, httpStatus, cause: thrown },
  });
}

const addressKeys: readonly string[] = ['package', 'url', 'file', 'folder', 'tar', 'layout', 'page'];

/** The addresses and paths of a source. */
function textsOf(source: object | undefined): readonly string[] {
  return Object.entries(source ?? {}).flatMap(([key, value]) => {
    if (typeof value !== 'string') return [];
    if (key === 'oci' || key === 'registry') return [`oci:${value}`];
    return addressKeys.includes(key) ? [value] : [];
  });
}

/** The address as a whole, without its scheme, and its host. */
function addressWords(text: string): readonly string[] {
  const bare = text.replace(/^(?:oci|file|folder|layout|archive):/, '').replace(/^[a-z]+:\/\//, '');
  const host = /^oci:|:\/\//.test(text) ? [bare.replace(/\/.*$/s, '')] : [];
  return [text, bare, ...host];
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
