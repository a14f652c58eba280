// Which of two Debian versions is the newer one, by the rules of Debian's policy: epochs, tildes before everything,
// digits as numbers. dpkg has the same, but a process for each package of a node would take seconds.

/** Negative when `a` is older. */
export function compareDebianVersions(a: string, b: string): number {
  const [first, second] = [split(a), split(b)];
  return (
    first.epoch - second.epoch ||
    compareParts(first.upstream, second.upstream) ||
    compareParts(first.revision, second.revision)
  );
}

function split(version: string) {
  const [, epoch = '0', rest = version] = /^([0-9]+):(.*)$/.exec(version) ?? [];
  const dash = rest.lastIndexOf('-');
  return {
    epoch: Number(epoch),
    upstream: dash === -1 ? rest : rest.slice(0, dash),
    revision: dash === -1 ? '' : rest.slice(dash + 1),
  };
}

/** Texts and numbers take turns, a text first. */
function compareParts(a: string, b: string): number {
  const [first, second] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < Math.max(first.length, second.length); at += 1) {
    const [x, y] = [first[at] ?? '', second[at] ?? ''];
    const difference = at % 2 === 0 ? compareTexts(x, y) : compareNumbers(x, y);
    if (difference !== 0) return difference;
  }
  return 0;
}

function partsOf(text: string): readonly string[] {
  return [...text.matchAll(/([^0-9]*)([0-9]*)/g)].flatMap(([, word = '', number = '']) => [word, number]);
}

function compareTexts(a: string, b: string): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = rank(a[at]) - rank(b[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A tilde comes before the end, the end before letters, letters before all else. */
function rank(character: string | undefined): number {
  if (character === undefined) return 0;
  if (character === '~') return -1;
  const code = character.charCodeAt(0);
  return /[A-Za-z]/.test(character) ? code : code + 256;
}

function compareNumbers(a: string, b: string): number {
  const difference = BigInt(a === '' ? 0 : a) - BigInt(b === '' ? 0 : b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
