// Addresses of resources. Azure compares them without regard to case, and keeps the case in which they were made.

export interface Address {
  readonly subscription: string;
  readonly group: string;
  /** `galleries/images` or, outside of Microsoft.Compute, `microsoft.network/virtualnetworks`; in lower case. */
  readonly type: string;
  /** One for each part of the type, or one less for a list or an action. */
  readonly names: readonly string[];
  readonly id: string;
  /** A resource, not a list or an action. */
  readonly isNamed: boolean;
}

const pattern = /^\/subscriptions\/([^/]+)(?:\/resourcegroups\/([^/]+))?\/providers\/([^/]+)\/([^?]+?)\/?$/i;

/** Reads the path of a resource, a list, or an action. */
export function readAddress(path: string): Address | undefined {
  const [, subscription, group = '', provider, rest] = pattern.exec(path) ?? [];
  if (subscription === undefined || provider === undefined || rest === undefined) return undefined;
  const segments = rest.split('/').map(readSegment);
  const types = segments.filter((_, index) => index % 2 === 0);
  const names = segments.filter((_, index) => index % 2 === 1);
  const isCompute = /^microsoft\.compute$/i.test(provider);
  return {
    ...{ subscription, group: readSegment(group), id: path.replace(/\/$/, ''), names },
    type: [...(isCompute ? [] : [provider]), ...types].join('/').toLowerCase(),
    isNamed: names.length === types.length,
  };
}

/** Returns the address of the resource that an action or a view belongs to. */
export function ownerOf(address: Address): Address {
  const id = address.id.slice(0, address.id.lastIndexOf('/'));
  return { ...address, id, type: address.type.replace(/\/[^/]+$/, ''), isNamed: true };
}

/** Returns the name of the resource itself. */
export function ownName({ names }: Address): string {
  return names.at(-1) ?? '';
}

/** A segment that is not encoded correctly is taken as it is: no resource has such a name. */
function readSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
