// Commands that copy versions to and from galleries and registries.
import { numberingPolicies } from '../../../domain/image/numbering.ts';
import { architectures } from '../../../domain/image/platform.ts';
import { formatBytes } from '../../../domain/value/bytes.ts';
import { exactArgument } from '../../input/find-version.ts';
import { readRegion } from '../../input/read-values.ts';
import { operation } from '../../run/builders.ts';
import type { FlagSpecs } from '../../spec/command.ts';

/** Flags of a version that comes from elsewhere. */
export const versionFlags = {
  version: { description: 'Version number (default: the next one)', value: 'N.N.N' },
  architecture: {
    description: 'Processor architecture of a new image (default: x64)',
    value: 'ARCH',
    choices: architectures,
  },
  numbering: {
    description: 'Numbering policy of a new image (default: semver)',
    value: 'POLICY',
    choices: numberingPolicies,
  },
} as const satisfies FlagSpecs;

export const publish = operation('publishImage', {
  summary: 'Publish a version to a gallery',
  details:
    'Machines and pools are created from the gallery. An existing copy is adopted if it is the tested version, and no copy is deleted. A failed region is retried on its own. A version with private inputs is never published to a shared gallery.',
  args: [exactArgument],
  flags: {
    provider: { description: "Provider of the gallery (default: the daemon's provider)", value: 'NAME' },
    gallery: { description: 'Registered gallery to publish to', value: 'NAME' },
    region: {
      description: 'Region to replicate to, and its number of replicas (default: 1)',
      value: 'REGION[=N]',
      repeated: true,
      field: 'regions',
      read: readRegion,
    },
    deep: { description: 'Read the disk back and compare every byte' },
  },
  examples: [['imago image publish node:staging --region westeurope=2', 'Publish it before a rollout']],
  done: ({ image, version, gallery, regions, compared }) => {
    const places = (regions ?? []) as readonly string[];
    const where = places.length === 0 ? '' : ` in ${places.join(', ')}`;
    return `${image}:${version} is published to ${gallery}${where}, compared by ${compared}`;
  },
});

export const push = operation('pushImage', {
  summary: 'Push a version to an OCI registry',
  details:
    'Sends everything that is attached to the version, and only what the registry does not have. Uses the credentials of `docker login`, `podman login`, or `skopeo login` of the user that runs the daemon. The tag defaults to the version number. A version with private inputs is refused.',
  args: [exactArgument, { name: 'TO', description: 'HOST/REPOSITORY[:TAG]' }],
  examples: [
    [
      'imago image push node:staging registry.example.com/images/node --dry-run',
      'Preview how much would be sent',
    ],
    ['imago image push node:staging registry.example.com/images/node', 'Push it'],
  ],
  name: ({ to }) => String(to),
  done: ({ image, version, to, digest, bytes }) => [
    `${image}:${version} is at ${to}@${digest}`,
    `${formatBytes(Number(bytes))} sent`,
  ],
});

export const pull = operation('pullImage', {
  summary: 'Pull a version from an OCI registry as a candidate',
  details:
    'Receives only what is missing, and verifies every digest. The version must be tested again before a channel that is not for testing accepts it. It must have a signature for this image by a key that is trusted here.',
  args: [{ name: 'FROM', description: 'HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST' }],
  flags: {
    name: {
      description: 'Image to add the version to (default: its own)',
      value: 'NAME',
      completes: 'image',
      field: 'image',
    },
    ...versionFlags,
    version: { ...versionFlags.version, description: 'Version number (default: its own)' },
    'allow-unsigned': {
      description: 'Accept it without a valid signature of a trusted key (`imago keys list`)',
    },
  },
  examples: [
    ['imago image pull registry.example.com/images/node:1.34.2', 'Pull a version of another installation'],
    [
      'imago image pull registry.example.com/images/node:1.34.2 --allow-unsigned',
      'Accept it even though no trusted key signed it',
    ],
  ],
  done: ({ image, version, reused, digest, bytes, signedBy }) => {
    const keys = signedBy as readonly string[];
    return [
      `${image}:${version} ${reused ? 'already exists' : 'is a candidate'}`,
      `digest ${digest}, ${formatBytes(Number(bytes))} received`,
      keys.length === 0
        ? 'No trusted key signed it: see `imago keys trust`.'
        : `Signed by key ${keys.join(', ')}.`,
    ];
  },
});
