// JSON Schemas as tables and short words, for the OpenAPI page.
import type { JsonSchema } from '../../api/openapi/json-schema.ts';
import { type Html, html } from '../html.ts';

/** The type in a few words, with links to the named schemas. */
export function typeOf(schema: JsonSchema): Html {
  const { $ref, type, enum: values, format, items } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? '';
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (isSchemas(choices)) return join(choices.map(typeOf), ' or ');
  if (Array.isArray(values))
    return join(
      values.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' or ',
    );
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (type === 'array' && isSchema(items)) return html`list of ${typeOf(items)}`;
  if (type === undefined) return html`any JSON`;
  return html`${String(type)}${typeof format === 'string' ? ` (${format})` : ''}${limits(schema)}`;
}

/** A table of the fields, or the type when there are none. */
export function fieldsOf(schema: JsonSchema, caption: string): Html {
  const { properties, required } = schema;
  if (typeof properties !== 'object' || properties === null) return html`<p>${typeOf(schema)}</p>`;
  const needed = Array.isArray(required) ? required : [];
  const rows = Object.entries(properties as Record<string, JsonSchema>).map(([name, field]) => ({
    name,
    type: typeOf(field),
    needed: needed.includes(name),
    says: says(field),
  }));
  return fieldTable(caption, rows);
}

export interface FieldRow {
  readonly name: string;
  readonly type: Html;
  readonly needed: boolean;
  readonly says: string;
}

export function fieldTable(caption: string, rows: readonly FieldRow[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Needed</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr><th scope="row"><code>${row.name}</code></th><td>${row.type}</td><td>${row.needed ? 'yes' : 'no'}</td><td>${row.says}</td></tr>
`,
  )}</tbody></table></div>`;
}

function says(schema: JsonSchema): string {
  const description = typeof schema.description === 'string' ? schema.description : '';
  const fallback = 'default' in schema ? `Default: ${JSON.stringify(schema.default)}.` : '';
  return [description, fallback].filter(Boolean).join(' ');
}

function limits(schema: JsonSchema): string {
  const { minimum, maximum, minLength, maxLength } = schema;
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  if (maximum !== undefined) return `, at most ${maximum}`;
  if (maxLength !== undefined) return `, ${minLength ?? 0} to ${maxLength} characters`;
  return '';
}

function join(parts: readonly Html[], between: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null;
}

function isSchemas(value: unknown): value is readonly JsonSchema[] {
  return Array.isArray(value);
}
