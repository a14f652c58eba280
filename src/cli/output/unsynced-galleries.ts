// Galleries that were not told what their `latest` is. The channel has moved all the same.

export function untoldLines({ untold }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!Array.isArray(untold) || untold.length === 0) return [];
  return [...untold.map(String), 'Galleries that were not told are told again by themselves.'];
}
