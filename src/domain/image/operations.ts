// The operations that bring versions in, send them out, and check them.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { name, sentence } from '../value/fields.ts';
import { numberingPolicies } from './numbering.ts';
import { imageOf } from './reference.ts';
import { architectures, operatingSystems } from './version.ts';

const number = name.optional().describe('The number to have. Defaults to the next one by the policy.');
const architecture = z.enum(architectures).default('x64');
const numbering = z.enum(numberingPolicies).default('semver');

const importFields = {
  image: name,
  file: sentence.describe('The original name of the file.'),
  version: number,
  os: z.enum(operatingSystems).default('linux'),
  architecture,
  numbering,
  kubernetes: name.optional(),
};

export const imageImport = declareOperation({
  kind: 'image-import',
  role: 'publisher',
  subject: ({ image }) => `image/${image}`,
  input: z.object({
    ...importFields,
    upload: z.string(),
    /** What a Windows disk was built from. */
    lock: z.unknown().optional(),
  }),
  routes: {
    importImage: {
      address: 'POST /v1/images/import',
      tag: 'Images',
      summary: 'Create a candidate from an uploaded disk',
      body: z.strictObject({
        ...importFields,
        // The lock may have what the request does not say.
        os: importFields.os.unwrap().optional(),
        architecture: architecture.unwrap().optional(),
        numbering: numbering.unwrap().optional(),
        upload: name
          .optional()
          .describe('The id of the upload. A dry run without it checks the rest, before a byte is sent.'),
        lock: z
          .string()
          .min(1)
          .optional()
          .describe('The text of the lock that a Windows disk was built from: its notes are made from it.'),
      }),
    },
  },
});

const pullFields = {
  from: sentence.describe('HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.'),
  image: name.optional().describe('The image that it becomes a version of. Defaults to its own name.'),
  version: number,
  architecture,
  numbering,
  allowUnsigned: z
    .boolean()
    .default(false)
    .describe('Accept it without a valid signature of a trusted key; refused by default.'),
};

export const imagePull = declareOperation({
  kind: 'image-pull',
  role: 'publisher',
  subject: ({ from }) => `registry/${from}`,
  input: z.object(pullFields),
  routes: {
    pullImage: {
      address: 'POST /v1/images/pull',
      tag: 'Images',
      summary: 'Create a candidate from a version in an OCI registry',
      body: z.strictObject(pullFields),
    },
  },
});

const pushFields = {
  reference: name.describe('The version to send; not a bare image name.'),
  to: sentence.describe("HOST/REPOSITORY[:TAG]. The tag defaults to the version's number."),
};

export const imagePush = declareOperation({
  kind: 'image-push',
  role: 'publisher',
  subject: ({ reference }) => `image/${imageOf(reference)}`,
  input: z.object(pushFields),
  routes: {
    pushImage: {
      address: 'POST /v1/images/push',
      tag: 'Images',
      summary: 'Copy a version, with everything attached, to an OCI registry',
      body: z.strictObject(pushFields),
    },
  },
});

const verifyFields = {
  reference: name,
  heal: z.boolean().default(true).describe('Repair what is damaged.'),
  registry: sentence.optional().describe('HOST/REPOSITORY that has a copy.'),
  requireSignature: z.boolean().default(false).describe('Fail if no trusted key signed it.'),
};

export const imageVerify = declareOperation({
  kind: 'image-verify',
  role: 'operator',
  subject: ({ reference }) => `image/${imageOf(reference)}`,
  input: z.object(verifyFields),
  routes: {
    verifyImage: {
      address: 'POST /v1/images/verify',
      tag: 'Images',
      summary: 'Read every byte of a version again, and repair what is damaged',
      body: z.strictObject(verifyFields),
    },
  },
});
