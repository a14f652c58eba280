// The operations that bring versions in, send them out, and check them.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { name, request, sentence } from '../value/fields.ts';
import { numberingPolicies } from './numbering.ts';
import { architectures, operatingSystems } from './platform.ts';
import { imageOf } from './reference.ts';

const number = name.optional().describe('Version number. Defaults to the next one.');
const architecture = z.enum(architectures).default('x64');
const numbering = z.enum(numberingPolicies).default('semver');

const importFields = {
  image: name,
  file: sentence.describe('Name of the file.'),
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
      summary: 'Import an uploaded disk as a candidate',
      body: request('ImportRequest', {
        ...importFields,
        // The lock may have what the request does not say.
        os: importFields.os.unwrap().optional(),
        architecture: architecture.unwrap().optional(),
        numbering: numbering.unwrap().optional(),
        upload: name.optional().describe('Id of the upload. A dry run without it checks the other fields.'),
        lock: z
          .string()
          .min(1)
          .optional()
          .describe('Lock that a Windows disk was built from, for its release notes and SBOM.'),
      }),
    },
  },
});

const pullFields = {
  from: sentence.describe('HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.'),
  image: name.optional().describe('Image to add the version to. Defaults to its own.'),
  version: number,
  architecture,
  numbering,
  allowUnsigned: z.boolean().default(false).describe('Accept it without a valid signature of a trusted key.'),
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
      summary: 'Pull a version from an OCI registry as a candidate',
      body: request('PullRequest', pullFields),
    },
  },
});

const pushFields = {
  reference: name.describe('Version to push, not a bare image name.'),
  to: sentence.describe('HOST/REPOSITORY[:TAG]. The tag defaults to the version number.'),
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
      summary: 'Push a version and everything attached to it to an OCI registry',
      body: request('PushRequest', pushFields),
    },
  },
});

const verifyFields = {
  reference: name,
  repair: z.boolean().default(true).describe('Repair damaged data.'),
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
      summary: 'Verify the integrity of a version and repair damaged data',
      body: request('VerifyRequest', verifyFields),
    },
  },
});

export const imageOutdated = declareOperation({
  kind: 'image-outdated',
  role: 'operator',
  subject: ({ reference }) => `freshness/${reference}`,
  input: z.object({ reference: verifyFields.reference }),
  routes: {
    findOutdatedPackages: {
      address: 'POST /v1/images/outdated',
      tag: 'Images',
      summary: 'Compare the packages of a version with the signed index of their archive',
      description: 'Nothing is booted. The result is stored as evidence, which the gate `fresh` reads.',
      body: request('OutdatedRequest', { reference: verifyFields.reference }),
    },
  },
});
