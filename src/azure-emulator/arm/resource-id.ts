// Addresses of resources. Azure compares them without regard to case, and keeps the case in which they were made.

export interface Address {
  readonly subscription: string;
  readonly group: string;
  /** `galleries/images`, in lower case. */
  readonly type: string;
  /** One for each part of the type, or one less for a list or an action. */
  readonly names: readonly string[];
  readonly id: string;
}

const pattern =
  /^\/subscriptions\/([^/]+)(?:\/resourcegroups\/([^/]+))?\/providers\/microsoft\.compute\/([^?]+?)\/?$/i;

/** Reads the path of a resource, a list, or an action of Microsoft.Compute. */
export function readAddress(path: string): Address | undefined {
  const [, subscription, group = '', rest] = pattern.exec(path) ?? [];
  if (subscription === undefined || rest === undefined) return undefined;
  const segments = rest.split('/').map(readSegment);
  const types = segments.filter((_, index) => index % 2 === 0);
  return {
    ...{ subscription, group: readSegment(group), id: path.replace(/\/$/, '') },
    type: types.join('/').toLowerCase(),
    names: segments.filter((_, index) => index % 2 === 1),
  };
}

export function isNamed({ type, names }: Address): boolean {
  return names.length === type.split('/').length;
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
