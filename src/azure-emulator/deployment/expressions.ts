// Template expressions: `[concat(parameters('name'), '-nic')]`, as far as clients send them.
import { createHash } from 'node:crypto';
import { ArmError } from '../arm/arm-error.ts';
import { isObject } from '../arm/json.ts';

/** The functions that a template may call. */
export type Functions = Readonly<Record<string, (...words: readonly unknown[]) => unknown>>;

/** Returns the value with every expression in it evaluated. */
export function evaluate(value: unknown, functions: Functions): unknown {
  if (Array.isArray(value)) return value.map((item) => evaluate(item, functions));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, evaluate(item, functions)]));
  }
  if (typeof value !== 'string' || !value.startsWith('[') || !value.endsWith(']')) return value;
  if (value.startsWith('[[')) return value.slice(1);
  return new Reader(value.slice(1, -1), functions).read();
}

function invalid(text: string): ArmError {
  return new ArmError(
    400,
    'InvalidTemplate',
    `Deployment template validation failed: the template language expression '${text}' is not valid.`,
  );
}

class Reader {
  readonly #text: string;
  readonly #functions: Functions;
  #at = 0;

  constructor(text: string, functions: Functions) {
    this.#text = text;
    this.#functions = functions;
  }

  read(): unknown {
    const value = this.#value();
    if (this.#next(/^\s*$/) === undefined) throw invalid(this.#text);
    return value;
  }

  #next(pattern: RegExp): string | undefined {
    const [found] = pattern.exec(this.#text.slice(this.#at)) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #value(): unknown {
    this.#next(/^\s+/);
    const text = this.#next(/^'(?:[^']|'')*'/);
    if (text !== undefined) return text.slice(1, -1).replaceAll("''", "'");
    const number = this.#next(/^-?\d+/);
    if (number !== undefined) return Number(number);
    const name = this.#next(/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\()/) ?? '';
    const call = this.#functions[name.toLowerCase()];
    if (call === undefined) throw invalid(this.#text);
    return this.#inside(call(...this.#words()));
  }

  #words(): readonly unknown[] {
    this.#next(/^\s*\(\s*/);
    const words: unknown[] = [];
    while (this.#next(/^\s*\)/) === undefined) {
      if (words.length > 0 && this.#next(/^\s*,/) === undefined) throw invalid(this.#text);
      words.push(this.#value());
    }
    return words;
  }

  /** Properties and items: `.id`, `[0]`. */
  #inside(value: unknown): unknown {
    const name = this.#next(/^\.\w+/)?.slice(1);
    if (name !== undefined) return this.#inside(isObject(value) ? value[name] : undefined);
    if (this.#next(/^\[/) === undefined) return value;
    const key = this.#value();
    if (this.#next(/^\s*\]/) === undefined) throw invalid(this.#text);
    if (Array.isArray(value)) return this.#inside(value[Number(key)]);
    return this.#inside(isObject(value) ? value[String(key)] : undefined);
  }
}

/** Functions that need nothing but their words. */
export const plainFunctions: Functions = {
  concat: (...words) => (words.every(Array.isArray) ? words.flat() : words.map(String).join('')),
  format: (text, ...words) => String(text).replace(/\{(\d+)\}/g, (_, index) => String(words[Number(index)])),
  tolower: (text) => String(text).toLowerCase(),
  toupper: (text) => String(text).toUpperCase(),
  string: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  int: (value) => Number(value),
  uniquestring: (...words) => createHash('sha256').update(words.join('-')).digest('hex').slice(0, 13),
  base64: (text) => Buffer.from(String(text)).toString('base64'),
  createarray: (...words) => words,
  equals: (a, b) => a === b,
  if: (condition, yes, no) => (condition === true ? yes : no),
  providers: () => ({ apiVersions: ['2024-11-01'] }),
  utcnow: () => new Date().toISOString(),
};
