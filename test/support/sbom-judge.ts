// The official schemas of CycloneDX 1.6 and SPDX 2.3 as judges of what Imago writes.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fetchSchemas } from '../../scripts/get-schemas.ts';

interface Validator {
  (value: unknown): boolean;
  readonly errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null;
}

interface Ajv {
  addSchema(schema: object, key?: string): unknown;
  compile(schema: object): Validator;
}

export interface SbomJudge {
  /** What is wrong with the document; the empty list when it is valid. */
  cycloneDx(document: unknown): string[];
  spdx(document: unknown): string[];
}

export async function sbomJudge(): Promise<SbomJudge> {
  const folder = await fetchSchemas();
  const require = createRequire(join(folder, 'package.json'));
  const AjvClass = require('ajv').default as new (options: object) => Ajv;
  const addFormats = require('ajv-formats').default as (ajv: Ajv) => void;
  const makeAjv = () => {
    // `iri-reference` and `idn-email` are formats that the validator does not have.
    const ajv = new AjvClass({ strict: false, formats: { 'iri-reference': true, 'idn-email': true } });
    addFormats(ajv);
    return ajv;
  };
  const schema = (...path: string[]) => JSON.parse(readFileSync(join(folder, ...path), 'utf8')) as object;

  const cycloneDxAjv = makeAjv();
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs']) {
    const file = `${name}.SNAPSHOT.schema.json`;
    cycloneDxAjv.addSchema(schema('cyclonedx', file), `http://cyclonedx.org/schema/${file}`);
  }
  const cycloneDx = cycloneDxAjv.compile(schema('cyclonedx', 'bom-1.6.SNAPSHOT.schema.json'));
  const spdx = makeAjv().compile(schema('spdx', '2.3-schema.json'));
  const judge = (validate: Validator) => (document: unknown) =>
    validate(document)
      ? []
      : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  return { cycloneDx: judge(cycloneDx), spdx: judge(spdx) };
}
