// What a field takes, in words.
import { orList } from '../value/suggest.ts';
import type { Field } from './field.ts';

export function describeValue(field: Field): string {
  switch (field.type) {
    case 'text':
      return field.form?.says ?? (field.multiline === true ? 'text' : 'text of one line');
    case 'scalar':
      return field.form?.says ?? 'text of one line or a whole number';
    case 'choice':
      return orList(field.of.map((choice) => `\`${choice}\``));
    case 'whole':
      return field.min === field.max ? String(field.min) : `a whole number from ${field.min} to ${field.max}`;
    case 'number':
      return `a number from ${field.min} to ${field.max}`;
    case 'boolean':
      return 'true or false';
    case 'any':
      return 'JSON';
    case 'list':
      return `a list, at most ${field.maxItems}`;
    case 'map':
      return `a map by ${field.keys.says}, at most ${field.maxItems}`;
    case 'object':
      return field.oneOf === undefined ? 'an object' : `an object with exactly one of ${orList(field.oneOf)}`;
  }
}
