// The OpenAPI page: complete, without outside resources, and safe against its own content.
import { expect, test } from 'vitest';
import { endpointNames } from '../../api/contract/contract.ts';
import { openApiDocument } from '../../api/openapi/openapi.ts';
import { docsHtml, docsResponse } from './page.ts';

const document = openApiDocument();
const page = docsHtml(document);

test('every endpoint and every schema is there, and every link leads somewhere', () => {
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]));
  for (const name of endpointNames) expect(ids).toContain(name);
  for (const name of Object.keys(document.components.schemas)) expect(ids).toContain(`schema-${name}`);
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]);
  expect(links.filter((link) => !ids.has(link))).toEqual([]);
});

test('no id appears twice', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
  expect(new Set(ids).size).toBe(ids.length);
});

test('it needs no script and nothing from outside', () => {
  expect(page).not.toMatch(/<script|<img|<link|@import|url\(|https?:\/\//);
  const policy = docsResponse(page).headers.get('content-security-policy');
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-/);
});

test('what the document says cannot become markup', () => {
  const evil = { ...document, info: { description: '<script>alert(1)</script>"\'&' } };
  expect(docsHtml(evil)).toContain('&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;');
});

test('screen readers find language, title, landmarks and table headings', () => {
  expect(page).toContain('<html lang="en">');
  expect(page).toMatch(/<title>.+<\/title>/);
  expect(page).toMatch(/<nav aria-label="[^"]+">/);
  expect(page.match(/<main/g)).toHaveLength(1);
  expect(page.match(/<h1/g)).toHaveLength(1);
  expect(page.match(/<table>/g)?.length).toBe(page.match(/<caption>/g)?.length);
  expect(page).not.toMatch(/<th>/);
});
