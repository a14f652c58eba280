// Images, versions, evidence, channels, and channel moves.

import * as z from 'zod';
import { architectures, operatingSystems } from '../../domain/image/platform.ts';
import { version } from '../../domain/image/record.ts';
import { sourcedSupport } from '../../domain/support/record.ts';
import { digest, name, record, simulated } from '../../domain/value/fields.ts';
import { pageQuery } from './common.ts';

export const shownVersion = version
  .extend({
    support: sourcedSupport
      .optional()
      .describe('Earliest end-of-support date that applies. Absent if there is none.'),
  })
  .meta({ id: 'ShownVersion', description: 'One version and its end of support.' });

export const resolution = record('Resolution', 'The exact version that a reference resolves to.', {
  reference: z.string(),
  image: z.string(),
  version: z.string(),
  digest,
  state: version.shape.state,
  simulated,
  channel: z.string().optional(),
  move: z.int().optional().describe('Channel move that selected it.'),
  kubernetes: z.string().optional(),
  region: z.string().optional().describe('Requested region in which it is ready.'),
  why: z.array(z.string()).readonly().optional().describe('Why it was chosen, if no image was named.'),
  reason: z.string().optional().describe('Why it is deprecated or withdrawn.'),
  warning: z.string().optional().describe('Why the version at the requested time is uncertain.'),
  nearest: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('Nearest usable versions, if this one is not usable.'),
});

export const resolveQuery = z.strictObject({
  reference: name
    .optional()
    .describe('NAME, NAME:VERSION, NAME:CHANNEL, or NAME@sha256:DIGEST. Without it, an image is chosen.'),
  os: z.enum(operatingSystems).optional().describe('To choose an image.'),
  arch: z.enum(architectures).optional().describe('To choose an image.'),
  size: name.optional().describe('Azure machine size that must start the image.'),
  at: name.optional().describe('Resolve as of this time.'),
  kubernetes: name
    .optional()
    .describe('1.34 or 1.34.2. With a bare name, selects the best available version.'),
  region: name.optional().describe('Region in which it must be ready.'),
});

export const movesQuery = z.strictObject({ ...pageQuery.shape, channel: name.optional() });
