// What images, channels, pools and nodes may be called. One rule fits Azure galleries, scale sets, file names
// and DNS labels, so that a name never has to be translated.

import { ImagoError } from '../error/imago-error.ts';
import { quote } from './quote.ts';

export type NamedThing = 'image' | 'channel' | 'pool' | 'node' | 'gallery' | 'webhook' | 'cluster';

interface NameRule {
  readonly pattern: RegExp;
  readonly maxLength: number;
  readonly says: string;
}

/** Of the number that follows a pool's name in its nodes' names, with the dash. */
export const nodeSuffixLength = 7;
const labelLength = 63;

const label = /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/;
const labelSays = 'lower-case letters, digits and dashes, beginning with a letter and not ending with a dash';

// A gallery allows 80 characters for a definition: an image's name leaves room for `-gen1`. A pool's leaves
// room for its nodes' numbers. Nodes are named by providers too, and those may begin with a digit.
const nameRules = {
  image: { pattern: label, maxLength: labelLength, says: labelSays },
  channel: { pattern: label, maxLength: labelLength, says: labelSays },
  gallery: { pattern: label, maxLength: labelLength, says: labelSays },
  cluster: { pattern: label, maxLength: labelLength, says: labelSays },
  webhook: { pattern: label, maxLength: labelLength, says: labelSays },
  pool: { pattern: label, maxLength: labelLength - nodeSuffixLength, says: labelSays },
  node: {
    pattern: /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    maxLength: labelLength,
    says: 'lower-case letters, digits and dashes, not beginning or ending with a dash',
  },
} as const satisfies Record<NamedThing, NameRule>;

/** What is wrong with the name, as the end of a sentence; `undefined` when it is good. */
export function nameProblem(thing: NamedThing, name: string): string | undefined {
  const rule = nameRules[thing];
  if (name === '') return 'is empty';
  if (name.length > rule.maxLength) {
    return `has ${name.length} characters, and ${rule.maxLength} are allowed`;
  }
  return rule.pattern.test(name) ? undefined : `is not made of ${rule.says}`;
}

export function isName(thing: NamedThing, name: string): boolean {
  return nameProblem(thing, name) === undefined;
}

/** Returns the name, or throws `name-malformed` with the nearest name that would do. */
export function checkName(thing: NamedThing, name: string): string {
  const problem = nameProblem(thing, name);
  if (problem === undefined) return name;
  const rule = nameRules[thing];
  const likely = likelyName(thing, name);
  throw new ImagoError('name-malformed', `The ${thing} name ${quote(name)} ${problem}.`, {
    hint:
      likely === undefined
        ? `Use ${rule.says}; at most ${rule.maxLength} characters.`
        : `Did you mean \`${likely}\`? Use ${rule.says}; at most ${rule.maxLength} characters.`,
  });
}

/** The name that was probably meant: lower case, with dashes for what is not allowed. */
export function likelyName(thing: NamedThing, text: string): string | undefined {
  const likely = text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return isName(thing, likely) ? likely : undefined;
}
