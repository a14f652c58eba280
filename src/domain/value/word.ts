// Words that reach the arguments or the configuration of another program. Each kind has its own grammar, in which no
// word starts with a dash or contains a space, a quote, or a line break, and a brand that only `checkWord` gives.
import { ImagoError } from '../error/imago-error.ts';
import { quote } from './quote.ts';

const rules = {
  // apt removes a package whose name it is given with a dash at the end.
  package: { pattern: /^[a-z0-9][a-z0-9+.-]*[a-z0-9+.]$/, is: 'the name of a Debian package' },
  'package version': { pattern: /^[0-9A-Za-z][0-9A-Za-z.+:~-]*$/, is: 'a Debian version' },
  version: {
    pattern: /^[0-9A-Za-z][0-9A-Za-z.+:~_-]*$/,
    is: 'a version of letters, digits, and . + : ~ _ -, starting with a letter or digit',
  },
  suite: { pattern: /^[A-Za-z0-9][A-Za-z0-9+._-]*$/, is: 'the code name of a release, like trixie' },
  architecture: { pattern: /^[a-z0-9][a-z0-9-]*$/, is: 'the name of an architecture' },
  host: { pattern: /^[A-Za-z0-9](?:[A-Za-z0-9.:-]*[A-Za-z0-9])?$/, is: 'a host name or an IP address' },
} as const;

const maxLength = 255;
/** The characters of RFC 3986 without quotes and parentheses, which other formats give a meaning. */
const addressPattern = /^https?:\/\/[A-Za-z0-9[][A-Za-z0-9._~:/?#[\]@!$&*+,;=%-]*$/;

export type WordKind = keyof typeof rules | 'address';
declare const wordKind: unique symbol;
export type Word<Kind extends WordKind> = string & { readonly [wordKind]: Kind };

/** Returns what is wrong with the word, as a clause; `undefined` if it follows its grammar. */
export function wordProblem(kind: WordKind, text: string): string | undefined {
  if (kind === 'address') return addressProblem(text);
  const { pattern, is } = rules[kind];
  return pattern.test(text) && text.length <= maxLength ? undefined : `${quote(text)} is not ${is}`;
}

function addressProblem(text: string): string | undefined {
  if (!addressPattern.test(text) || !URL.canParse(text)) return `${quote(text)} is not an http address`;
  const { username, password } = new URL(text);
  return username === '' && password === '' ? undefined : 'an address cannot contain a user or a password';
}

/** Returns the word with its brand, or throws `input-invalid`. */
export function checkWord<Kind extends WordKind>(kind: Kind, text: string): Word<Kind> {
  const problem = typeof text === 'string' ? wordProblem(kind, text) : `${quote(String(text))} is not text`;
  if (problem === undefined) return text as Word<Kind>;
  throw new ImagoError('input-invalid', `${problem}.`);
}
