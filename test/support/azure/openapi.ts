// Checks exchanges against Azure's own OpenAPI documents. Enums that Azure leaves open are open here too.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { isObject, type Json, listAt, part, textAt } from '../../../src/azure-emulator/arm/json.ts';
import type { Exchange } from '../../../src/azure-emulator/emulator.ts';

interface Operation {
  readonly method: string;
  readonly path: RegExp;
  readonly version: string;
  readonly request: string | undefined;
  /** Schemas by status; without one nothing is said about the body. */
  readonly responses: ReadonlyMap<string, string | undefined>;
}

const formats = [
  'int32',
  'int64',
  'float',
  'double',
  'byte',
  'password',
  'date-time',
  'uri',
  'arm-id',
  'decimal',
  'uuid',
];

export class OpenApi {
  readonly #ajv = new Ajv({
    strict: false,
    validateFormats: false,
    formats: Object.fromEntries(formats.map((name) => [name, true])),
  });
  readonly #loaded = new Set<string>();
  readonly #operations: Operation[] = [];

  constructor(oracles: string) {
    const base = join(oracles, 'openapi/specification/compute/resource-manager/Microsoft.Compute');
    for (const provider of readdirSync(base)) {
      const stable = join(base, provider, 'stable');
      for (const version of provider.endsWith('RP') ? readdirSync(stable).sort().reverse() : []) {
        const files = readdirSync(join(stable, version)).filter((name) => name.endsWith('.json'));
        for (const file of files) this.#read(join(stable, version, file), version);
      }
    }
  }

  /** Returns what is wrong with an exchange; `undefined` if nothing is, `'unknown'` if no document has its path. */
  check({ method, url, request, status, response }: Exchange): string | undefined {
    const { pathname, searchParams } = new URL(url);
    const fits = this.#operations.filter((one) => one.method === method && one.path.test(pathname));
    const found = fits.find(({ version }) => version === searchParams.get('api-version')) ?? fits[0];
    if (found === undefined) return 'unknown';
    if (status >= 400)
      return textAt(response, 'error', 'code') === undefined ? 'an error without a code' : undefined;
    if (!found.responses.has(String(status))) return `status ${status}`;
    const wrong = found.request === undefined ? undefined : this.#validate(found.request, request);
    const schema = found.responses.get(String(status));
    return (
      wrong ?? (schema === undefined || response === null ? undefined : this.#validate(schema, response))
    );
  }

  #validate(schema: string, value: unknown): string | undefined {
    const check = this.#ajv.getSchema(schema);
    if (check === undefined) return `no schema ${schema}`;
    if (check(value)) return undefined;
    return check.errors?.map((error) => `${error.instancePath} ${error.message}`).join(', ');
  }

  #read(file: string, version: string): void {
    const document = this.#load(file);
    for (const [path, methods] of Object.entries(part(document, 'paths'))) {
      const pattern = new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}/?$`, 'i');
      for (const [method, operation] of Object.entries(part({ methods }, 'methods'))) {
        if (!isObject(operation) || !('responses' in operation)) continue;
        const name = `${file}/${String(operation.operationId)}`;
        const body = listAt(operation, 'parameters').find((one) => textAt(one, 'in') === 'body');
        const responses = Object.entries(part(operation, 'responses')).map(
          ([status, answer]) =>
            [status, this.#schema(file, part({ answer }, 'answer').schema, `${name}/${status}`)] as const,
        );
        this.#operations.push({
          ...{ method: method.toUpperCase(), path: pattern, version },
          request: this.#schema(file, part({ body }, 'body').schema, `${name}/request`),
          responses: new Map(responses),
        });
      }
    }
  }

  #schema(file: string, schema: unknown, id: string): string | undefined {
    if (!isObject(schema)) return undefined;
    this.#ajv.addSchema(absolute(schema, file) as Json, `file://${id}`);
    return `file://${id}`;
  }

  /** Reads a document and all that it refers to. */
  #load(file: string): Json {
    const document = JSON.parse(readFileSync(file, 'utf8'), opened) as Json;
    if (this.#loaded.has(file)) return document;
    this.#loaded.add(file);
    const { definitions, parameters } = document;
    this.#ajv.addSchema(absolute({ definitions, parameters }, file) as Json, `file://${file}`);
    for (const other of filesIn({ definitions, paths: document.paths, parameters }, file)) this.#load(other);
    return document;
  }
}

/** Enums that are marked as strings may have values that are not listed. */
function opened(_: string, value: unknown): unknown {
  if (!isObject(value) || part(value, 'x-ms-enum').modelAsString !== true) return value;
  const { enum: _values, ...open } = value;
  return open;
}

function absolute(value: unknown, file: string): unknown {
  if (Array.isArray(value)) return value.map((item) => absolute(item, file));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'x-ms-examples' && name !== 'example')
      .map(([name, item]) => [
        name,
        name === '$ref' && typeof item === 'string' ? reference(item, file) : absolute(item, file),
      ]),
  );
}

function reference(text: string, file: string): string {
  const [path = '', pointer = ''] = text.split('#');
  return `file://${path === '' ? file : resolve(dirname(file), path)}#${pointer}`;
}

function filesIn(value: unknown, file: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => filesIn(item, file));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (name === 'x-ms-examples') return [];
    if (name !== '$ref' || typeof item !== 'string') return filesIn(item, file);
    const [path = ''] = item.split('#');
    return path === '' ? [] : [resolve(dirname(file), path)];
  });
}
