// Reading of documents that others write: what is not of the expected kind counts as absent.

export type Loose = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

export function objects(value: unknown): readonly Loose[] {
  return isList(value) ? value.filter(isObject) : [];
}

export function object(value: unknown): Loose {
  return isObject(value) ? value : {};
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
