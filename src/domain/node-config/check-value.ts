// Checks one plain value of the node config: text, choice, number, boolean. Secrets are never repeated.
import { quote } from '../value/quote.ts';
import { didYouMean, orList } from '../value/suggest.ts';
import type {
  BooleanField,
  ChoiceField,
  NumberField,
  ScalarField,
  TextField,
  TextForm,
  WholeField,
} from './field.ts';

export type SecretRule = 'named' | 'plain' | 'either';

/** What is wrong, as the end of a sentence that begins with the field's path. */
export interface Wrong {
  readonly message: string;
  readonly hint?: string;
}

export type PlainField = TextField | ChoiceField | WholeField | NumberField | BooleanField | ScalarField;

export const secretName = /^secret:[a-z0-9][a-z0-9-]{0,62}$/;
const longestLine = 1024;

/** `undefined` when the value is good. */
export function wrongValue(field: PlainField, value: unknown, secrets: SecretRule): Wrong | undefined {
  switch (field.type) {
    case 'text':
      return wrongText(field, value, secrets);
    case 'choice':
      return wrongChoice(field, value);
    case 'scalar':
      return wrongScalar(field, value);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrong(`must be true or false, and is ${kindOf(value)}`);
    case 'whole':
    case 'number':
      return wrongNumber(field, value);
  }
}

function wrongText(field: TextField, value: unknown, secrets: SecretRule): Wrong | undefined {
  if (typeof value !== 'string') return wrong(`must be text, and is ${kindOf(value)}`);
  if (field.secret === true && secrets !== 'plain' && secretName.test(value)) return undefined;
  if (field.secret === true && secrets === 'named') {
    return wrong(
      'is a secret, and what is stored names secrets instead of holding them',
      'Put it into the secrets folder of the daemon and write `secret:NAME` here.',
    );
  }
  const longest = field.maxLength ?? longestLine;
  if (value.length > longest) return wrong(`has ${value.length} characters, and ${longest} are allowed`);
  if (!value.isWellFormed()) return wrong('has half of a surrogate pair in its text');
  if (value.includes('\0')) return wrong('has a zero byte in its text');
  if (field.multiline !== true && hasControl(value)) {
    return wrong('has a line break or another control character in it');
  }
  if (field.form === undefined || new RegExp(field.form.pattern).test(value)) return undefined;
  return isHidden(field) ? wrong(`is not ${field.form.says}`, field.form.hint) : wrongForm(field.form, value);
}

/** Secrets, and texts that may hold some or are too long for a sentence. */
export function isHidden(field: { readonly secret?: true; readonly multiline?: true }): boolean {
  return field.secret === true || field.multiline === true;
}

function wrongForm(form: TextForm, value: string): Wrong {
  return wrong(`is ${quote(value)}, which is not ${form.says}`, form.hint);
}

function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function wrongChoice({ of }: ChoiceField, value: unknown): Wrong | undefined {
  if (typeof value !== 'string') return wrong(`must be text, and is ${kindOf(value)}`);
  if (of.includes(value)) return undefined;
  return wrong(`is ${quote(value)}, and must be ${orList(of)}`, didYouMean(value, of));
}

function wrongScalar({ form }: ScalarField, value: unknown): Wrong | undefined {
  if (typeof value === 'string') {
    return wrongText({ type: 'text', about: '', ...(form === undefined ? {} : { form }) }, value, 'plain');
  }
  if (typeof value !== 'number') return wrong(`must be text or a whole number, and is ${kindOf(value)}`);
  if (!Number.isSafeInteger(value)) return wrong(`is ${value}, and must be a whole number`);
  if (form === undefined || new RegExp(form.pattern).test(String(value))) return undefined;
  return wrongForm(form, String(value));
}

function wrongNumber(field: WholeField | NumberField, value: unknown): Wrong | undefined {
  if (typeof value !== 'number') return wrong(`must be a number, and is ${kindOf(value)}`);
  if (field.type === 'whole' && !Number.isInteger(value)) {
    return wrong(`is ${value}, and must be a whole number`);
  }
  if (value >= field.min && value <= field.max) return undefined;
  return wrong(`is ${value}, and must lie between ${field.min} and ${field.max}`);
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : `a ${typeof value}`;
}

function wrong(message: string, hint?: string): Wrong {
  return { message, ...(hint === undefined ? {} : { hint }) };
}
