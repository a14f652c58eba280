// A list for people: so many of its names, and how many there are besides.

/** `a, b and 3 more`; all of them when one more would do. */
export function someOf(names: readonly string[], most = 10): string {
  if (names.length <= most + 1) return names.join(', ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}
