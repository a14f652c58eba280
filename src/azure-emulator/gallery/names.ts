// Names of galleries, definitions and versions: the rules of Azure, and the names that the cloud model has for them.

import { ArmError } from '../arm/arm-error.ts';
import { stableId } from '../arm/documents.ts';
import type { Address } from '../arm/resource-id.ts';

const rules = {
  galleries: {
    pattern: /^[A-Za-z0-9](?:[\w.]{0,78}[A-Za-z0-9])?$/,
    says: 'letters, digits, _ and . inside, at most 80',
  },
  'galleries/images': {
    pattern: /^[^_\W][\w.-]{0,79}(?<![-.])$/,
    says: 'letters, digits, -, _ and ., at most 80',
  },
  'galleries/images/versions': {
    pattern: /^\d{1,10}\.\d{1,10}\.\d{1,10}$/,
    says: 'Major.Minor.Patch, all integers',
  },
} as const;

export function checkAzureName(type: keyof typeof rules, name: string): void {
  const { pattern, says } = rules[type];
  const fits =
    pattern.test(name) &&
    (type !== 'galleries/images/versions' || name.split('.').every((n) => Number(n) < 2 ** 31));
  if (fits) return;
  throw new ArmError(
    400,
    'InvalidParameter',
    `The entity name '${name}' is invalid according to its validation rule: ${says}.`,
    {
      target: `${type.split('/').at(-1)}.name`,
    },
  );
}

/** Names of the model are stricter than those of Azure, so its names are made from the addresses. */
export function modelNames({ subscription, names }: Pick<Address, 'subscription' | 'names'>) {
  const [gallery = '', image = '', version = ''] = names;
  return { gallery: `g${short(subscription, gallery)}`, image: `i${short(image)}`, version };
}

function short(...parts: readonly string[]): string {
  return stableId(...parts)
    .replaceAll('-', '')
    .slice(0, 20);
}
