// Which network addresses are private: whoever may name a webhook must not reach what only this machine can reach.
// Everything that is not plainly public counts as private (RFC 6890 and its successors).

/** Ranges that are not for the public internet, as text of address and length. */
const privateRanges4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;

/** Returns `undefined` for what is not an address. */
export function addressFamily(text: string): 4 | 6 | undefined {
  if (parseIpv4(text) !== undefined) return 4;
  return parseIpv6(text) === undefined ? undefined : 6;
}

/** Whether an address is not on the public internet. What cannot be read counts as private. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const four = parseIpv4(bare);
  if (four !== undefined) return isPrivate4(four);
  const six = parseIpv6(bare);
  return six === undefined || isPrivate6(six);
}

function isPrivate4(value: number): boolean {
  return privateRanges4.some(([start, length]) => {
    const from = parseIpv4(start) ?? 0;
    const size = 2 ** (32 - length);
    return value >= from && value < from + size;
  });
}

/** Public are only 2000::/3 without its special parts, and addresses that carry a public IPv4 one. */
function isPrivate6(groups: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const carried = g * 65_536 + h;
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) return isPrivate4(carried);
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return isPrivate4(carried);
  if (a === 0x2002) return isPrivate4(b * 65_536 + c);
  if (a < 0x2000 || a > 0x3fff) return true;
  if (a === 0x2001 && b < 0x200) return true;
  if (a === 0x2001 && b === 0xdb8) return true;
  return a === 0x3fff && b < 0x1000;
}

function parseIpv4(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((value, part) => value * 256 + part, 0);
}

function parseIpv6(text: string): readonly number[] | undefined {
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const four = tail === null ? undefined : parseIpv4(tail[2] ?? '');
  if (tail !== null && four === undefined) return undefined;
  const whole =
    four === undefined
      ? text
      : `${tail?.[1]}${Math.floor(four / 65_536).toString(16)}:${(four % 65_536).toString(16)}`;
  const halves = whole.split('::');
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...left, ...Array.from({ length: missing }, () => '0'), ...right];
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.map((group) => Number.parseInt(group, 16));
}

/** Whether a cloud gives its machines credentials at the address: link-local ones, and Azure's wire server. */
export function isLinkLocal(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const six = parseIpv6(bare);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = six ?? [];
  if (six !== undefined && (a & 0xffc0) === 0xfe80) return true;
  if (six !== undefined && a === 0xfd00 && b === 0xec2) return true;
  const isMapped = [a, b, c, d, e].every((group) => group === 0) && f === 0xffff;
  const four = six === undefined ? parseIpv4(bare) : isMapped ? g * 65_536 + h : undefined;
  return four !== undefined && (four >>> 16 === 0xa9fe || four === parseIpv4('168.63.129.16'));
}
