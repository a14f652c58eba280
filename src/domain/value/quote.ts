// What someone typed, as an error shows it: on one line, with its odd characters visible, and never long.

const longest = 80;

export function quote(text: string): string {
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return JSON.stringify(shown.toWellFormed());
}
