// HTML that cannot be broken out of: values are escaped unless they are HTML already.

export interface Html {
  readonly html: string;
}

type Part = string | number | Html | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((text, index) => text + render(parts[index])).join('') };
}

function render(part: Part): string {
  if (part === undefined) return '';
  if (isParts(part)) return part.map(render).join('');
  return typeof part === 'object' ? part.html : escapeText(String(part));
}

function isParts(part: Part): part is readonly Part[] {
  return Array.isArray(part);
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
