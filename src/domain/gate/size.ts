// The gate of size: the size of the disk, and its growth.
import * as z from 'zod';
import { formatBytes, parseBytes } from '../value/bytes.ts';
import { parsed } from '../value/fields.ts';
import { defineGate, exceeds, type Finding } from './define-gate.ts';
import type { GateFacts } from './facts.ts';
import { growth, growthOf, percent, signedPercent } from './growth.ts';

interface SizeSettings {
  readonly atMostBytes?: number;
  readonly growth?: number;
}

const size = z.string().describe('For example `512MiB` or `8GiB`.').transform(parsed(parseBytes));

export const sizeGate = defineGate({
  settings: z
    .strictObject({ atMost: size.optional(), growth: growth.optional() })
    .refine((gate) => gate.atMost !== undefined || gate.growth !== undefined, 'requires `atMost` or `growth`')
    .transform(
      ({ atMost, growth: most }): SizeSettings => ({
        ...(atMost === undefined ? {} : { atMostBytes: atMost }),
        ...(most === undefined ? {} : { growth: most }),
      }),
    )
    .describe('Disk size.'),
  check,
  weaker: (before, after) => ({
    atMost: exceeds(after.atMostBytes, before.atMostBytes),
    growth: exceeds(after.growth, before.growth),
  }),
});

function check({ atMostBytes, growth: most }: SizeSettings, { version, before }: GateFacts): Finding {
  const needs = [
    ...(atMostBytes === undefined ? [] : [`at most ${formatBytes(atMostBytes)}`]),
    ...(most === undefined ? [] : [`at most ${percent(most)} above the version before`]),
  ];
  const grown = before === undefined ? 0 : growthOf(before.version.sizeBytes, version.sizeBytes);
  const against = before === undefined ? '' : `, ${signedPercent(grown)} against ${before.version.version}`;
  return {
    needs: needs.join(' and '),
    passed: version.sizeBytes <= (atMostBytes ?? Infinity) && grown <= (most ?? Infinity),
    value: `${formatBytes(version.sizeBytes)}${against}`,
  };
}
