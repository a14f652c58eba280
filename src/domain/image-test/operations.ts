// The operation that tests a version.
import * as z from 'zod';
import { readStoredConfig } from '../node-config/stored-config.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name, request } from '../value/fields.ts';

export const firmwares = ['uefi', 'bios', 'direct'] as const;
export type Firmware = (typeof firmwares)[number];

const testFields = {
  reference: name.describe('Version to test, not a bare image name.'),
  nodeConfig: z
    .string()
    .max(49_152)
    .optional()
    .describe('Node config of the test machines. Defaults to one that uses everything in the image.'),
  firmware: z
    .array(z.enum(firmwares))
    .min(1)
    .max(6)
    .optional()
    .describe('Firmware to test. Defaults to all.'),
  keepOnFailure: z.boolean().optional().describe('Keep the machines of a failed test running for debugging.'),
};

export const imageTest = declareOperation({
  kind: 'test',
  role: 'publisher',
  subject: ({ reference }) => `image/${reference}`,
  input: z.object({ ...testFields, provider: z.string().optional() }).transform((input) => {
    // An operation is recorded with its input, so a config in it lists secrets by name.
    if (input.nodeConfig !== undefined) readStoredConfig(input.nodeConfig);
    return input;
  }),
  routes: {
    createTest: {
      address: 'POST /v1/tests',
      tag: 'Images',
      summary: 'Boot a sealed version, run its checks, and record the results as evidence',
      body: request('TestRequest', testFields),
    },
  },
});
