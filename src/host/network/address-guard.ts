// Decides which addresses a user's input can make this host connect to: downloads of a recipe and registries. A name is
// resolved once, every address that it has is checked, and the connection goes to a checked one, so that a name that
// points elsewhere a moment later reaches nothing else.
import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isLinkLocal, isPrivateAddress } from '../../domain/webhook/address.ts';

export interface AddressGuard {
  /** Throws `address-refused` for a URL with a literal address that is refused, or with another scheme than http. */
  check(url: URL): void;
  /**
   * Resolves names for a connection to this URL. Fails with `address-refused` if any address of the name is refused.
   */
  lookupFor(url: URL): LookupFunction;
  /** Resolves and checks the host of a URL, for a program that connects on its own. */
  checkName(url: URL): Promise<void>;
  /**
   * Allows a server that the administrator of this host has configured elsewhere, such as apt's mirror. Other ports of
   * the same host stay refused.
   */
  trust(url: URL): void;
}

export interface AddressRules {
  /** Names, addresses, and ranges that are always allowed. */
  readonly allow: readonly string[];
  /** Whether other private addresses are refused. Those of cloud metadata services always are. */
  readonly refusePrivate: boolean;
}

export type Resolve = (
  host: string,
  answer: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void;

const resolveName: Resolve = (host, answer) =>
  systemLookup(host, { all: true }, (error, found) => answer(error, found ?? []));

export function addressGuard(rules: AddressRules, resolve: Resolve = resolveName): AddressGuard {
  const names = new Set(rules.allow.filter((text) => isIP(text.replace(/\/\d+$/, '')) === 0));
  const ranges = rangesOf(rules.allow);
  const trusted = new Set<string>();

  function isRefused(address: string): boolean {
    if (ranges.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return false;
    return isLinkLocal(address) || (rules.refusePrivate && isPrivateAddress(address));
  }

  function lookUp(url: URL, host: string, answer: Parameters<Resolve>[1]): void {
    resolve(host, (error, found) => {
      const isKnown = names.has(host.toLowerCase()) || trusted.has(serverOf(url));
      const inside = isKnown ? undefined : found.find(({ address }) => isRefused(address));
      if (error === null && inside !== undefined) answer(refused(host, inside.address), []);
      else if (error === null && found.length === 0) answer(new Error(`${host} has no address`), []);
      else answer(error, found);
    });
  }

  const guard: AddressGuard = {
    check(url) {
      if (!/^https?:$/.test(url.protocol)) throw refused(url.protocol, url.protocol);
      const host = hostOf(url);
      if (isIP(host) !== 0 && !trusted.has(serverOf(url)) && isRefused(host)) throw refused(host, host);
    },
    lookupFor: (url) => (host, options, answer) =>
      lookUp(url, host, (error, found) => {
        const [first] = found;
        if (error !== null || first === undefined) answer(error, '');
        else if (options.all) answer(null, found);
        else answer(null, first.address, first.family);
      }),
    async checkName(url) {
      guard.check(url);
      const host = hostOf(url);
      if (isIP(host) !== 0) return;
      await new Promise<void>((done, fail) => {
        // A name that is not known is for the program to report.
        lookUp(url, host, (error) => (error instanceof ImagoError ? fail(error) : done()));
      });
    },
    trust: (url) => void trusted.add(serverOf(url)),
  };
  return guard;
}

/** The rules of a daemon that only its owner can reach. */
export const ownerGuard: AddressGuard = addressGuard({ allow: [], refusePrivate: false });

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Host and port, which is the usual one of the scheme if the URL names none. */
function serverOf(url: URL): string {
  return `${hostOf(url)}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
}

function rangesOf(allow: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const text of allow) {
    const [address = '', length] = text.split('/');
    const family = isIP(address);
    if (family === 0) continue;
    const type = family === 6 ? 'ipv6' : 'ipv4';
    if (length === undefined) ranges.addAddress(address, type);
    else ranges.addSubnet(address, Number(length), type);
  }
  return ranges;
}

function refused(host: string, address: string): ImagoError {
  const what = host === address ? `${host} is not` : `${host} has the address ${address}, which is not`;
  return new ImagoError('address-refused', `${what} a public address.`);
}
