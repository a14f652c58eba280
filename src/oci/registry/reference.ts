// Names of things in registries: `host[:port]/repository[:tag][@sha256:…]`. A host is always given: Imago
// has no registry that it would take for granted.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type Digest, isDigest } from '../layout/digest.ts';

export interface RegistryReference {
  /** Host, with a port where one is given. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
}

const hostPattern = /^(?:\[[0-9a-f:]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?$/i;
const repositoryPattern =
  /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;

/** Throws `reference-malformed` for anything that a registry would not understand. */
export function parseRegistryReference(text: string): RegistryReference {
  const [name = '', digest, ...rest] = text.split('@');
  const slash = name.indexOf('/');
  const registry = name.slice(0, Math.max(0, slash));
  const colon = name.indexOf(':', slash);
  const repository = slash < 0 ? '' : name.slice(slash + 1, colon < 0 ? undefined : colon);
  const tag = colon < 0 || slash < 0 ? undefined : name.slice(colon + 1);
  const good =
    rest.length === 0 &&
    hostPattern.test(registry) &&
    repositoryPattern.test(repository) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || isDigest(digest));
  if (!good) {
    throw new ImagoError(
      'reference-malformed',
      `${JSON.stringify(text.slice(0, 200))} does not name a repository`,
      {
        hint: 'Write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.',
      },
    );
  }
  return { registry, repository, tag, digest: digest !== undefined && isDigest(digest) ? digest : undefined };
}

export function isLoopback(registry: string): boolean {
  const host = registry.replace(/:\d+$/, '');
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
